import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'

/** An API that answers with the header `x-key` that it got. */
async function echo(t: TestContext): Promise<string> {
  const server = createServer((request, response) => response.end(String(request.headers['x-key'])))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const configuration = (url: string, key: string) => `name: shop
routers: [{server: shop, prefix: /shop}]
servers: [{name: shop}]
tools:
  - {name: key, description: Shows the key, method: GET, endpoint: ${url}/, headers: {X-Key: "${key}"}}
`

test('.env in this folder and beside the settings, --env-file and the environment set variables, the last one first', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'shop.yaml'), configuration('http://127.0.0.1:1', '${SHOP_KEY}'))
  const render = async (args: string[], env = {}) =>
    (await run(t, ['render', 'shop.yaml', 'key', '--show-secrets', ...args], { cwd, env })).stdout
  const unset = await run(t, ['validate', 'shop.yaml'], { cwd })
  assert.match(unset.stdout, /SHOP_KEY is not set/)
  writeFileSync(join(cwd, '.env'), 'SHOP_KEY="from .env"\n')
  assert.match(await render([]), /from \.env/)
  mkdirSync(join(cwd, 'etc'))
  writeFileSync(join(cwd, 'etc/plantgw.yaml'), 'port: 5299\n')
  assert.match(await render(['--settings', 'etc/plantgw.yaml']), /from \.env/)
  writeFileSync(join(cwd, 'etc/.env'), 'SHOP_KEY=beside\n')
  assert.match(await render(['--settings', 'etc/plantgw.yaml']), /beside/)
  writeFileSync(join(cwd, 'a.env'), 'SHOP_KEY=from a\nOTHER=1\n')
  writeFileSync(join(cwd, 'b.env'), 'SHOP_KEY=from b\n')
  assert.match(await render(['--env-file', 'a.env']), /from a/)
  assert.match(await render(['--env-file', 'a.env', '--env-file', 'b.env']), /from b/)
  assert.match(await render(['--env-file', 'a.env'], { SHOP_KEY: 'outer' }), /outer/)
  const missing = await run(t, ['validate', 'shop.yaml', '--env-file', 'c.env'], { cwd })
  // Node 20 and 22 look for the file themselves, and exit with 9.
  assert.ok([2, 9].includes(Number(missing.code)), String(missing.code))
  assert.match(missing.stderr, /c\.env/)
  writeFileSync(join(cwd, '.env'), 'ELSE=1\n')
  assert.match(
    (await run(t, ['validate', 'shop.yaml'], { cwd })).stdout,
    /hint: Set it in \.env, or give a default/,
  )
})

test('a file of variables: a comment begins after white space, and a line that is no assignment is an error', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'shop.yaml'), configuration('http://127.0.0.1:1', '[${SHOP_KEY}]'))
  const render = async (text: string) => {
    writeFileSync(join(cwd, '.env'), text)
    const { stdout, stderr } = await run(t, ['render', 'shop.yaml', 'key', '--show-secrets'], { cwd })
    return stderr || /\[(.*)\]/.exec(stdout)?.[1]
  }
  for (const [line, value] of [
    ['SHOP_KEY=a#b', 'a#b'],
    ['SHOP_KEY= #b', ''],
    ['export SHOP_KEY = a b\t# c "d"\r\n', 'a b'],
    [`SHOP_KEY='a # "b"' # c`, 'a # "b"'],
    ['\uFEFF# x\n\n  SHOP_KEY=a"#b', 'a"#b'],
    ['OTHER="1\n2"\nSHOP_KEY=`a`#b\n', 'a'],
  ] as const)
    assert.equal(await render(line), value, line)
  for (const line of ['secret', 'export SHOP_KEY', 'SHOP KEY=secret', '=secret'])
    assert.equal(
      await render(`A=1\n\n${line}\nSHOP_KEY=a\n`),
      'plantgw: .env:3: this is no assignment: write `NAME=value`, `#` before a comment, and quotes around a value of several lines\n',
    )
  for (const line of ['SHOP_KEY="secret', `SHOP_KEY='a'b'`])
    assert.equal(
      await render(line),
      'plantgw: .env:1: a quote is not closed, or text follows it: put the value in quotes that it does not contain\n',
    )
})

test('secret files are read by path and by folder, and again at a reload', async (t) => {
  const cwd = temporaryFolder(t)
  const url = await echo(t)
  mkdirSync(join(cwd, 'configs'))
  mkdirSync(join(cwd, 'run/..data'), { recursive: true })
  // As Kubernetes mounts a secret.
  symlinkSync('..data/SHOP_KEY', join(cwd, 'run/SHOP_KEY'))
  writeFileSync(join(cwd, 'run/..data/SHOP_KEY'), 'folder-one\n')
  writeFileSync(join(cwd, 'one'), 'file-one\r\n')
  writeFileSync(join(cwd, '.env'), 'FROM_ENV=env-one\n')
  const masked = configuration(url, `\${SHOP_KEY} \${file:${join(cwd, 'one')}} \${FROM_ENV}`)
  writeFileSync(
    join(cwd, 'configs/shop.yaml'),
    masked.replace('[{name: shop}]', '[{name: shop, redact: off}]'),
  )
  const port = String(await freePort())
  writeFileSync(join(cwd, 'plantgw.yaml'), `port: ${port}\nsecrets: [run]\npid: gateway.pid\n`)
  const serving = plantgw(t, ['serve', 'configs'], { cwd, env: { PLANTGW_LOG_FORMAT: 'json' } })
  await serving.until(/plantgw serves/)
  const call = async () => (await run(t, ['call', '/shop', 'key'], { cwd })).stdout.trim()
  assert.equal(await call(), 'folder-one file-one env-one')

  writeFileSync(join(cwd, 'run/..data/SHOP_KEY'), 'folder-two\n')
  writeFileSync(join(cwd, 'one'), 'file-two')
  writeFileSync(join(cwd, '.env'), 'FROM_ENV=env-two\n')
  assert.equal(await call(), 'folder-one file-one env-one', 'nothing changes before a reload')
  assert.equal((await run(t, ['reload'], { cwd })).code, 0)
  await serving.until(/"changed":\["shop"\]/)
  assert.equal(await call(), 'folder-two file-two env-two')
  writeFileSync(join(cwd, 'configs/shop.yaml'), masked)
  assert.equal((await run(t, ['reload'], { cwd })).code, 0)
  assert.equal(await call(), '*** *** env-two')

  rmSync(join(cwd, 'one'))
  await run(t, ['reload'], { cwd })
  await serving.until(/there is no such file/)
  assert.equal(await call(), '*** *** env-two', 'the last good version stays')
  serving.child.kill('SIGINT')
  await serving.ended
  assert.doesNotMatch(serving.stderr() + serving.stdout(), /(?:folder|file|env)-(?:one|two)/)
})

test('a secret file that cannot be read is a finding; a tenant has none read', async (t) => {
  const cwd = temporaryFolder(t)
  const tool = (key: string) => configuration('http://127.0.0.1:1', key)
  mkdirSync(join(cwd, 'folder'))
  writeFileSync(join(cwd, 'big'), 'x'.repeat(70_000))
  writeFileSync(join(cwd, 'good'), 'x')
  const told = async (path: string, before = '', settings: string[] = []) => {
    writeFileSync(join(cwd, 'shop.yaml'), before + tool(`\${file:${path}}`))
    return (await run(t, ['validate', 'shop.yaml', ...settings], { cwd })).stdout
  }
  assert.match(
    await told(join(cwd, 'none')),
    /shop\.yaml:5:\d+: error: .*none: there is no such file \[secret-file\]/,
  )
  assert.match(await told(join(cwd, 'folder')), /it is a folder \[secret-file\]/)
  assert.match(await told(join(cwd, 'big')), /larger than 64 KiB \[secret-file\]/)
  assert.match(await told(join(cwd, 'good')), /1 file, nothing wrong/)
  writeFileSync(
    join(cwd, 'tenants.yaml'),
    'tenants: [{name: green, prefix: /shop, tokens: [{token: abcdefghijklmnop1, caller: a}]}]\n',
  )
  const green = await told(join(cwd, 'good'), 'tenant: green\n', ['-s', 'tenants.yaml'])
  assert.match(green, /configurations of a tenant have no files read \[secret-file\]/)
})

test('what is in a file of variables: a byte order mark, names that every object has; no bytes or devices', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'plantgw.yaml'), 'port: 5299\nsecrets: [run]\n')
  writeFileSync(join(cwd, '.env'), '\uFEFFFIRST=1\r\nconstructor=2\r\n')
  mkdirSync(join(cwd, 'run'))
  writeFileSync(join(cwd, 'run/toString'), '\uFEFF3\n')
  writeFileSync(
    join(cwd, 'shop.yaml'),
    configuration('http://127.0.0.1:1', '${FIRST} ${constructor} ${toString}'),
  )
  const { stdout } = await run(t, ['render', 'shop.yaml', 'key', '--show-secrets'], { cwd })
  assert.match(stdout, /X-Key: 1 2 3\n/i)
  const faults: [make: () => void, fault: RegExp][] = [
    [
      () => writeFileSync(join(cwd, '.env'), Buffer.from([0x41, 0x3d, 0xff])),
      /file \.env: it is not UTF-8 text/,
    ],
    [() => writeFileSync(join(cwd, '.env'), 'A=1\n'.repeat(300_000)), /file \.env: it is larger than 1 MiB/],
    [() => symlinkSync('/dev/zero', join(cwd, '.env')), /file \.env: this is a device/],
  ]
  for (const [make, fault] of faults) {
    rmSync(join(cwd, '.env'), { force: true, recursive: true })
    make()
    const { code, stderr } = await run(t, ['validate', 'shop.yaml'], { cwd })
    assert.equal(code, 2)
    assert.match(stderr, fault)
  }
})

test('a secret that is no text is a finding; that of a folder is named where its variable is not set', async (t) => {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'run'))
  const bytes = Buffer.from([0x61, 0xff])
  for (const name of ['bytes', 'run/SHOP_KEY']) writeFileSync(join(cwd, name), bytes)
  writeFileSync(join(cwd, 'plantgw.yaml'), 'secrets: [run]\n')
  writeFileSync(
    join(cwd, 'shop.yaml'),
    configuration('http://127.0.0.1:1', `\${file:${join(cwd, 'bytes')}} \${SHOP_KEY}`),
  )
  const { stdout } = await run(t, ['validate', 'shop.yaml'], { cwd })
  assert.match(stdout, /bytes: it is not UTF-8 text \[secret-file\]/)
  assert.match(
    stdout,
    /SHOP_KEY is not set[\s\S]*hint: Make its secret file readable: .*run\/SHOP_KEY: it is not UTF-8 text/,
  )
})

test('variables of a pipe stay at a reload, which does not wait for it', async (t) => {
  const [cwd, other] = [temporaryFolder(t), temporaryFolder(t)]
  const url = await echo(t)
  execFileSync('mkfifo', [join(cwd, '.env')])
  writeFileSync(join(cwd, 'shop.yaml'), configuration(url, 'a ${PIPED}'))
  const settings = `port: ${await freePort()}\n`
  for (const folder of [cwd, other]) writeFileSync(join(folder, 'plantgw.yaml'), settings)
  const written = writeFile(join(cwd, '.env'), 'PIPED=p1\n')
  const serving = plantgw(t, ['serve', 'shop.yaml'], { cwd, env: { PLANTGW_LOG_FORMAT: 'json' } })
  await Promise.all([written, serving.until(/plantgw serves/)])
  writeFileSync(join(cwd, 'shop.yaml'), configuration(url, 'b ${PIPED}'))
  serving.child.kill('SIGHUP')
  await serving.until(/"changed":\["shop"\]/)
  const { stdout } = await run(t, ['call', '/shop', 'key'], { cwd: other })
  assert.equal(stdout.trim(), 'b p1')
})

test('render, lint-templates and check-endpoints read the secrets of the settings; render masks them by any name', async (t) => {
  const cwd = temporaryFolder(t)
  const url = await echo(t)
  mkdirSync(join(cwd, 'run'))
  writeFileSync(join(cwd, 'run/PLACE'), 'folder-secret-1\n')
  writeFileSync(join(cwd, 'one'), 'file-secret-1\n')
  writeFileSync(join(cwd, 'plantgw.yaml'), 'secrets: [run]\n')
  const file = configuration(url, `a \${PLACE} \${file:${join(cwd, 'one')}}`).replace('X-Key', 'X-Place')
  writeFileSync(join(cwd, 'shop.yaml'), file)
  for (const args of [
    ['lint-templates', 'shop.yaml'],
    ['check-endpoints', 'shop.yaml', '--local'],
  ]) {
    const { stdout, stderr } = await run(t, args, { cwd })
    assert.doesNotMatch(stdout + stderr, /not set/)
  }
  const { code, stdout } = await run(t, ['render', 'shop.yaml', 'key'], { cwd })
  assert.equal(code, 0)
  assert.match(stdout, /X-Place: \*\*\*\n/)
  assert.doesNotMatch(stdout, /secret-1/)
})

/** Repeats its arguments and environment. */
const CHILD = `
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  const text = process.argv.slice(1).join(' ') + ' ' + process.env.DATA_DIR
  const result = method === 'initialize'
    ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
    : method === 'tools/list' ? { tools: [{ name: 'say', inputSchema: { type: 'object' } }] } : { content: [{ type: 'text', text }] }
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
})`

test('an answer hides what the configuration reads as a secret, and nothing that merely occurs', async (t) => {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'run'))
  writeFileSync(join(cwd, 'run/UNTOLD'), 'of-a-secret-file')
  const said = [
    'read-by-entry-1',
    'only-occurs-22',
    `${cwd}/docs`,
    '/run/user/7/agent.sock',
    'abcdefg',
    'of-a-secret-file',
  ]
  const args = [
    '-e',
    CHILD,
    '${READ_TOKEN}',
    said[1],
    `${cwd}/docs`,
    '${SSH_AUTH_SOCK}',
    '${SHORT_TOKEN}',
    '${UNTOLD}',
  ]
  const server = {
    name: 'c',
    type: 'stdio',
    command: process.execPath,
    args,
    env: { DATA_DIR: `${cwd}/data` },
  }
  const file = { name: 'c', routers: [{ server: 'c', prefix: '/c' }], mcpServers: [server] }
  writeFileSync(join(cwd, 'c.yaml'), JSON.stringify(file))
  const port = String(await freePort())
  writeFileSync(join(cwd, 'plantgw.yaml'), `port: ${port}\nsecrets: [run]\n`)
  const env = {
    READ_TOKEN: said[0]!,
    OTHER_TOKEN: said[1]!,
    PWD: cwd,
    OLDPWD: cwd,
    KEYCLOAK_HOME: cwd,
    SSH_AUTH_SOCK: said[3]!,
    SHORT_TOKEN: said[4]!,
  }
  const serving = plantgw(t, ['serve', 'c.yaml'], { cwd, env })
  await serving.until(/plantgw serves/)
  const { stdout } = await run(t, ['call', '/c', 'say'], { cwd })
  const shown = said.map((text, i) => ([0, 5].includes(i) ? '***' : text))
  assert.equal(stdout.trim(), [...shown, `${cwd}/data`].join(' '))
  const explained = await run(t, ['explain', 'c.yaml'], { cwd, env })
  assert.equal(
    explained.stdout,
    'c: masked in answers: the variable READ_TOKEN, by its name; the secret file of `UNTOLD`\n',
  )
})
