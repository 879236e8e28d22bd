import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { unpack } from '../support/packed.ts'
import { ROOT, temporaryFolder } from '../support/process.ts'

const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
)

test('databases and brokers are optional, and a missing package is named with the command that installs it', (t) => {
  assert.deepEqual(Object.keys(peerDependencies), ['ioredis', 'kysely', 'mysql2', 'pg'])
  for (const name of Object.keys(peerDependencies))
    assert.deepEqual([peerDependenciesMeta[name].optional, dependencies[name]], [true, undefined])

  const installed = unpack(t)
  const modules = join(installed, 'node_modules')
  rmSync(modules)
  mkdirSync(modules)
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (!(name in peerDependencies)) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))

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
  const cases = [
    ['storage: {type: postgres, url: "postgres://127.0.0.1:1/x"}', 'npm install pg kysely'],
    ['storage: {type: mysql, url: "mysql://127.0.0.1:1/x"}', 'npm install mysql2 kysely'],
    ['notifier: {type: redis, redis: {addr: "127.0.0.1:1", topic: x}}', 'npm install ioredis'],
  ] as const
  for (const [settings, command] of cases) {
    writeFileSync(join(cwd, 'plantgw.yaml'), `${settings}\n`)
    const { status, text } = run('validate', 'empty.yaml', '--all', '--settings', 'plantgw.yaml')
    assert.equal(status, 1)
    assert.match(text, new RegExp(`missing-package[^]*${command}`), text)
    assert.doesNotMatch(text, /unreachable/)
  }
  for (const [settings, command] of cases.slice(0, 2)) {
    writeFileSync(join(cwd, 'plantgw.yaml'), `${settings}\n`)
    for (const args of [['serve'], ['config', 'list']]) {
      const { status, text } = run(...args, '--settings', 'plantgw.yaml')
      assert.equal(status, 2)
      assert.ok(text.includes(`run \`${command}\``), text)
    }
  }
})
