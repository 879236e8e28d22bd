import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseEnv } from 'node:util'
import { parse } from 'yaml'
import { run, temporaryFolder } from '../support/process.ts'

const FILE = JSON.stringify({
  mcpServers: {
    github: { command: 'npx', args: ['gh'], env: { GITHUB_TOKEN: 'one 1', LOG: 'debug' } },
    db: { command: 'npx', args: ['db', 'postgresql://me:pass$word@h/x'] },
    api: { url: 'https://mcp.example.com/mcp', headers: { Authorization: 'Bearer a"b' } },
    plain: { command: 'npx', args: ['plain'], env: { TEAM: '${TEAM}' } },
  },
})

test('import mcp --write-env: the secrets of the file, readable by their owner; what is set stays', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'mcp.json'), FILE)
  writeFileSync(join(cwd, '.env'), 'GITHUB_TOKEN=mine\nAPI_TOKEN=', { mode: 0o644 })
  const made = await run(t, ['import', 'mcp', 'mcp.json', '-o', 'configs', '--write-env', '.env'], { cwd })
  assert.equal(made.code, 0, made.stderr)
  const text = readFileSync(join(cwd, '.env'), 'utf8')
  assert.deepEqual(
    { ...parseEnv(text) },
    { GITHUB_TOKEN: 'mine', API_TOKEN: 'a"b', DB_PASSWORD: 'pass$word' },
  )
  assert.equal(statSync(join(cwd, '.env')).mode & 0o777, 0o600)
  assert.doesNotMatch(made.stdout, /one 1|pass\$word|a"b/)
  const [, after] = made.stdout.split('\nWritten to ')
  assert.equal(
    after!.replace(/^ {2}\S.*plantgw(?:\.js)? /gm, '  plantgw '),
    `.env, which only you can read:
  DB_PASSWORD
  API_TOKEN

Already in .env, and not changed:
  GITHUB_TOKEN  has another value than the imported file

Set these environment variables before you serve:
  TEAM  \`env\` of plain

To serve all of them at one endpoint, import again with
  --prefix /all

Next:
  plantgw validate configs
  plantgw serve configs
`,
  )
  const env = { TEAM: 'x' }
  const sound = await run(t, ['validate', 'configs', '--env-file', '.env'], { cwd, env })
  assert.equal(sound.code, 0, sound.stdout)
  const again = await run(t, ['import', 'mcp', 'mcp.json', '--format', 'json', '--write-env', 'x/y'], { cwd })
  assert.deepEqual([again.code, existsSync(join(cwd, 'x'))], [2, false])
})

test('import mcp --prefix: one endpoint for all servers', async (t) => {
  const { code, stdout, stderr } = await run(t, ['import', 'mcp', '-', '--prefix', '/all'], { input: FILE })
  assert.equal(code, 0, stderr)
  const { name, routers, mcpServers } = parse(stdout)
  assert.equal(name, 'all')
  assert.deepEqual(routers, [{ server: ['github', 'db', 'api', 'plain'], prefix: '/all' }])
  assert.equal(mcpServers.length, 4)
  const tokens = { a: { command: 'x', options: { authTokens: ['1'] } }, b: { command: 'y' } }
  const refused = await run(t, ['import', 'mcp', '-', '--prefix', '/all'], {
    input: JSON.stringify({ mcpServers: tokens }),
  })
  assert.match(refused.stderr, /their callers have different tokens .*leave out --prefix/)
})

test('import curl reads a file of command lines; each import of requests writes its secrets', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(
    join(cwd, 'calls.txt'),
    "# two calls\ncurl https://example.com/a \\\n  -H 'Authorization: Bearer t1'\n\ncurl -u me:p1 https://example.com/b\n",
  )
  const made = await run(t, ['import', 'curl', 'calls.txt', '--write-env', 'own.env'], { cwd })
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stderr, /^calls\.txt: 2 operations, 2 imported/)
  assert.match(
    made.stderr,
    /Next, with this file as example\.yaml:\n.* validate example\.yaml --env-file own\.env\n/,
  )
  assert.deepEqual(
    { ...parseEnv(readFileSync(join(cwd, 'own.env'), 'utf8')) },
    { EXAMPLE_TOKEN: 't1', EXAMPLE_BASIC_USER: 'me', EXAMPLE_BASIC_PASSWORD: 'p1' },
  )
  const missing = await run(t, ['import', 'curl', 'nosuch.txt'], { cwd })
  assert.deepEqual([missing.code, missing.stderr.includes('nosuch.txt: no such file')], [2, true])
  const collection = {
    info: { name: 'Shop' },
    auth: { type: 'bearer', bearer: { token: '{{token}}' } },
    variable: [{ key: 'token', value: 's3cret' }],
    item: [{ name: 'a', request: { url: 'https://example.com/a' } }],
  }
  const postman = await run(t, ['import', 'postman', '-', '--write-env', 'p.env'], {
    cwd,
    input: JSON.stringify(collection),
  })
  assert.equal(readFileSync(join(cwd, 'p.env'), 'utf8'), 'SHOP_TOKEN=s3cret\n', postman.stderr)
})

test('a recording and a collection without requests get advice', async (t) => {
  const cwd = temporaryFolder(t)
  for (const [kind, value, advice] of [
    ['har', { log: { entries: [] } }, /\n {2}Call the API while the developer tools /],
    ['postman', { info: { name: 'Shop' }, item: [] }, /\n {2}Export a collection that has requests\n$/],
  ] as const) {
    const input = JSON.stringify(value)
    const { code, stdout, stderr } = await run(t, ['import', kind, '-'], { cwd, input })
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^-: 0 operations, 0 imported, 0 skipped\n/)
    assert.match(stderr, advice)
  }
})
