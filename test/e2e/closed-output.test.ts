import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { plantgw, ROOT, temporaryFolder } from '../support/process.ts'

test('a command whose output nobody reads to its end has its own exit code, and no stack trace', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'wrong.yaml'), 'name: a\nroutrs: []\n')
  for (const [args, code] of [
    [['schema'], 0],
    [['--help'], 0],
    [['--version'], 0],
    [['serve', '--help'], 0],
    [['serve', '--print-routes', 'examples/configs'], 0],
    [['validate', folder], 1],
  ] as const) {
    const { child, ended, stderr } = plantgw(t, args)
    child.stdout!.destroy()
    assert.equal(await ended, code, args.join(' '))
    assert.doesNotMatch(stderr(), /EPIPE/, args.join(' '))
  }
})

test('a process that runs many commands listens to its outputs once', () => {
  const script = `import { main } from './dist/bin/main.js'
for (let i = 0; i < 20; i++) await main(['--version'])`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  assert.equal(stdout.trim().split('\n').length, 20)
  assert.equal(stderr, '')
})
