import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { BIN, run, temporaryFolder } from '../support/process.ts'

const SOUND =
  'name: a\nrouters: [{server: s, prefix: /a}]\nservers: [{name: s, description: A test}]\ntools: []\n'

test('no command waits for a pipe without a writer', { timeout: 60_000 }, async (t) => {
  const cwd = temporaryFolder(t)
  const named = 'named pipe, not a file'
  const silent = 'a pipe into which nothing was written for 3 s'
  execFileSync('mkfifo', [join(cwd, 'pipe')])
  writeFileSync(join(cwd, 'a.yaml'), SOUND)
  const ended = async (args: string[], code: number, fault: string) => {
    const made = await run(t, args, { cwd })
    assert.equal(made.code, code, args.join(' '))
    assert.ok((made.stdout + made.stderr).includes(fault), made.stdout + made.stderr)
  }
  await Promise.all([
    ended(['validate', 'pipe'], 1, `pipe: error: this is a ${named} [unreadable-file]`),
    ended(['import', 'openapi', 'pipe'], 2, `cannot read pipe: this is a ${named}`),
    ended(['import', 'mcp', 'pipe'], 2, `cannot read pipe: this is a ${named}`),
    ended(
      ['validate', 'a.yaml', '--settings', 'pipe'],
      2,
      `cannot read the settings file pipe: it is ${silent}`,
    ),
  ])
  writeFileSync(join(cwd, 'plantgw.yaml'), 'port: 5999\n')
  execFileSync('mkfifo', [join(cwd, '.env')])
  await ended(['validate', 'a.yaml'], 2, `cannot read the environment file .env: it is ${silent}`)
})

test('what a shell passes as <(…) is read', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'a.yaml'), SOUND)
  writeFileSync(join(cwd, 'plantgw.yaml'), 'port: 5999\n')
  const script =
    '"$0" "$1" validate <(cat a.yaml) --settings <(cat plantgw.yaml) --format json --only references'
  const output = execFileSync('bash', ['--norc', '-c', script, process.execPath, BIN], {
    cwd,
    env: { PATH: process.env.PATH },
  })
  assert.equal(JSON.parse(String(output)).findings.length, 0)
})
