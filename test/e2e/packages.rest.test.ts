import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CODES } from '../../src/findings/codes.ts'
import { unpack } from '../support/packed.ts'
import { ROOT, temporaryFolder } from '../support/process.ts'

/** What sends OTLP. @param encoding of the names of its packages */
const otlpPackages = (encoding: string) =>
  [
    ...['sdk-metrics', 'sdk-trace', 'resources'].map((name) => `${name}@^2.12.0`),
    ...['metrics', 'trace'].map((signal) => `exporter-${signal}-otlp-${encoding}@^0.223.0`),
  ]
    .map((name) => `@opentelemetry/${name}`)
    .join(' ')

const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
)

test('databases, brokers and telemetry are optional, and a missing package is named with the command that installs it', (t) => {
  const exporters = ['metrics', 'trace'].flatMap((signal) =>
    ['http', 'proto'].map((each) => `exporter-${signal}-otlp-${each}`),
  )
  const telemetry = [...exporters, 'resources', 'sdk-metrics', 'sdk-trace'].map(
    (name) => `@opentelemetry/${name}`,
  )
  assert.deepEqual(Object.keys(peerDependencies), [...telemetry, 'ioredis', 'kysely', 'mysql2', 'pg'].sort())
  for (const name of Object.keys(peerDependencies))
    assert.deepEqual([peerDependenciesMeta[name].optional, dependencies[name]], [true, undefined])

  const installed = unpack(t)
  const modules = join(installed, 'node_modules')
  rmSync(modules)
  mkdirSync(modules)
  const scope = '@opentelemetry'
  mkdirSync(join(modules, scope))
  const scoped = readdirSync(join(ROOT, 'node_modules', scope)).map((name) => `${scope}/${name}`)
  for (const name of [...readdirSync(join(ROOT, 'node_modules')), ...scoped])
    if (!(name in peerDependencies || name === scope))
      symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))

  const cwd = temporaryFolder(t)
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(installed, 'bin/plantgw.js'), ...args],
      { cwd, encoding: 'utf8' },
    )
    return { status, text: stdout + stderr }
  }
  writeFileSync(join(cwd, 'empty.yaml'), 'name: empty\nrouters: []\nservers: []\ntools: []\n')
  const { wrong, right } = CODES['missing-package']
  const cases = [
    [wrong, 'npm install pg kysely'],
    ['storage: {type: postgres, url: "postgres://127.0.0.1:1/x"}', 'npm install pg kysely'],
    ['storage: {type: mysql, url: "mysql://127.0.0.1:1/x"}', 'npm install mysql2 kysely'],
    ['notifier: {type: redis, redis: {addr: "127.0.0.1:1", topic: x}}', 'npm install ioredis'],
    ['telemetry: {otlp: {}}', `npm install ${otlpPackages('proto')}`],
  ] as const
  for (const [settings, command] of cases) {
    writeFileSync(join(cwd, 'plantgw.yaml'), `${settings}\n`)
    const { status, text } = run('validate', 'empty.yaml', '--all', '--settings', 'plantgw.yaml')
    assert.equal(status, 1)
    assert.match(text, /missing-package/)
    assert.ok(text.includes(command), text)
    assert.doesNotMatch(text, /unreachable/)
  }
  for (const [settings, command] of cases.filter(([settings]) => !settings.includes('notifier'))) {
    writeFileSync(join(cwd, 'plantgw.yaml'), `${settings}\n`)
    const isStore = settings.includes('storage')
    for (const args of isStore ? [['serve'], ['config', 'list']] : [['serve', 'empty.yaml', '--port', '0']]) {
      const { status, text } = run(...args, '--settings', 'plantgw.yaml')
      assert.equal(status, 2)
      assert.ok(text.includes(`run \`${command}\``), text)
    }
  }
  writeFileSync(join(cwd, 'plantgw.yaml'), right)
  assert.doesNotMatch(
    run('validate', 'empty.yaml', '--all', '--settings', 'plantgw.yaml').text,
    /missing-package/,
  )
})
