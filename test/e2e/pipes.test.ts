import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { BIN, freePort, plantgw, ROOT, run, temporaryFolder } from '../support/process.ts'

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

/** The words that a shell makes of a command line. */
const wordsOf = (line: string) =>
  execFileSync('sh', ['-c', `printf '%s\\n' ${line}`], { encoding: 'utf8' }).split('\n')

test('commands that are shown run nothing that an author of a configuration writes as a prefix', async (t) => {
  for (const prefix of ['/a/$(id)', '/a/;id', "/a/'$(id)'", '/a/&id']) {
    const folder = temporaryFolder(t)
    const configuration = {
      name: 'a',
      routers: [{ server: 'a', prefix }],
      servers: [{ name: 'a' }],
      tools: [{ name: 'get_a', description: 'Gets', endpoint: 'http://127.0.0.1:9/' }],
    }
    writeFileSync(join(folder, 'a.yaml'), JSON.stringify(configuration))
    const port = await freePort()
    writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify({ port }))
    const gateway = plantgw(t, ['serve', 'a.yaml', '--settings', 'plantgw.yaml'], { cwd: folder })
    await gateway.until(/ tools \S+ --settings/)
    const [connect = '', tools = ''] =
      gateway.stdout().match(/(?<=^ {2}node \S+plantgw\.js )(connect|tools) .*/gm) ?? []
    assert.equal(wordsOf(connect)[2], prefix)
    assert.equal(wordsOf(tools)[1], prefix)
    const page = await fetch(`http://127.0.0.1:${port}/_console/connect`)
    const [, shown = ''] = /<pre[^>]*>plantgw (connect claude-code [^<]*)/.exec(await page.text()) ?? []
    assert.equal(wordsOf(shown.replaceAll('&#39;', "'").replaceAll('&amp;', '&'))[2], prefix)
  }
})
