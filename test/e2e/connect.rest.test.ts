import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { CLIENT_NAMES, type ClientName, clientOf, openFile, urlOf } from '../../src/import/clients/index.ts'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'

const tool = { name: 'hello', method: 'GET', endpoint: 'http://127.0.0.1:1/', description: 'Says hello' }
const configuration = (name: string, router: object = {}) => ({
  name,
  routers: [{ server: 's', prefix: `/${name}`, ...router }],
  servers: [{ name: 's', allowedTools: ['hello'] }],
  tools: [tool],
})
const token = { auth: { type: 'bearer', tokens: [{ token: 'a-very-long-token-of-ann', caller: 'ann' }] } }

/** A project with the prefixes `/shop`, which is open, and `/desk`, which requires a token; and a home folder. */
function project(t: TestContext, settings: object = {}) {
  const cwd = temporaryFolder(t)
  const home = join(cwd, 'home')
  mkdirSync(join(cwd, 'configs'))
  mkdirSync(home)
  writeFileSync(join(cwd, 'configs/shop.json'), JSON.stringify(configuration('shop')))
  writeFileSync(join(cwd, 'configs/desk.json'), JSON.stringify(configuration('desk', token)))
  const storage = { type: 'directory', path: 'configs' }
  writeFileSync(join(cwd, 'plantgw.yaml'), JSON.stringify({ storage, ...settings }))
  const env = { HOME: home }
  return {
    cwd,
    home,
    connect: (...args: string[]) => run(t, ['connect', ...args], { cwd, env }),
    pathOf: (name: ClientName) => clientOf(name).file({ platform: process.platform, home, env: {} }),
  }
}

/** The URLs of a client's file, by name, read as the client's form is read. */
function urlsIn(name: ClientName, path: string) {
  const { entries } = openFile(clientOf(name), path, readFileSync(path, 'utf8'))
  return Object.fromEntries([...entries].map(([key, entry]) => [key, urlOf(entry)]))
}

const BIN = fileURLToPath(new URL('../../bin/plantgw.js', import.meta.url))
const BOTH = { desk: 'http://127.0.0.1:5235/desk/mcp', shop: 'http://127.0.0.1:5235/shop/mcp' }

for (const name of CLIENT_NAMES)
  test(`${name}: the file names the URLs, is read again, and is as before once they are removed`, async (t) => {
    const { connect, pathOf } = project(t)
    const path = pathOf(name)
    const { code, stdout, stderr } = await connect(name)
    assert.equal(code, 0, stderr)
    assert.ok(stdout.includes(path), stdout)
    assert.match(stdout, /PLANTGW_TOKEN/)
    assert.deepEqual(urlsIn(name, path), BOTH)
    const text = readFileSync(path, 'utf8')
    assert.equal(text.includes('a-very-long-token'), false)
    assert.match(text, /PLANTGW_TOKEN|plantgw-token/)
    assert.equal(statSync(path).mode & 0o777, 0o600)

    const again = await connect(name)
    assert.match(again.stdout, /has all of it already/)
    assert.equal(readFileSync(path, 'utf8'), text)
    assert.equal(existsSync(`${path}.plantgw-backup`), false)

    const removed = await connect(name, '--remove', '/shop')
    assert.match(removed.stdout, /^Removed from .*: shop\n$/)
    assert.deepEqual(Object.keys(urlsIn(name, path)), ['desk'])
    assert.equal(readFileSync(`${path}.plantgw-backup`, 'utf8'), text)
    await connect(name, '--remove')
    assert.deepEqual(urlsIn(name, path), {})
    assert.equal(readFileSync(path, 'utf8').includes('5235'), false)
    assert.match((await connect(name, '--remove', '/shop')).stdout, /has no server for \/shop/)
  })

test('what is printed is what is written, and nothing is written', async (t) => {
  const { connect, pathOf } = project(t)
  const printed = await connect('cursor', '/shop', '--print')
  assert.deepEqual(JSON.parse(printed.stdout), { mcpServers: { shop: { url: BOTH.shop } } })
  assert.equal(existsSync(pathOf('cursor')), false)
})

test('a configuration with errors is named, as its prefixes are missing', async (t) => {
  const { connect, cwd } = project(t)
  writeFileSync(join(cwd, 'configs/desk.json'), JSON.stringify(configuration('desk', { prefix: 'desk' })))
  const { code, stdout, stderr } = await connect('cursor', '--print')
  assert.deepEqual([code, Object.keys(JSON.parse(stdout).mcpServers)], [0, ['shop']])
  assert.match(
    stderr,
    /^plantgw: \S*configs\/desk\.json has errors, so its prefixes are left out: see `plantgw validate`\n$/,
  )
})

test('the file of a project, and a client that has none', async (t) => {
  const { connect, cwd } = project(t)
  assert.equal((await connect('claude-code', '--project')).code, 0)
  assert.deepEqual(urlsIn('claude-code', join(cwd, '.mcp.json')), BOTH)
  const none = await connect('zed', '--project')
  assert.deepEqual(
    [none.code, none.stderr],
    [2, 'plantgw: zed has no file of a project: leave out --project\n'],
  )
})

test('the URL is that of --url, else publicUrl; a prefix that only --url knows is taken', async (t) => {
  const { connect } = project(t, { publicUrl: 'https://tools.example.com/mcp-gateway/' })
  const urls = async (...args: string[]) => {
    const { stdout, stderr } = await connect('cursor', '--print', ...args)
    assert.equal(stderr, '')
    const { mcpServers } = JSON.parse(stdout)
    return Object.values(mcpServers).map((entry) => (entry as { url: string }).url)
  }
  assert.deepEqual(await urls('/shop/'), ['https://tools.example.com/mcp-gateway/shop/mcp'])
  assert.deepEqual(await urls('/else/mcp', '/', '--url', 'http://10.0.0.1:8080/'), [
    'http://10.0.0.1:8080/else/mcp',
    'http://10.0.0.1:8080/mcp',
  ])
  const bad = await connect('cursor', '--url', 'tools.example.com')
  assert.match(bad.stderr, /--url must be the address of the gateway/)
  const endpoint = await connect('cursor', '/shop', '--url', 'http://10.0.0.1/shop/mcp')
  assert.match(
    endpoint.stderr,
    /without the prefix: http:\/\/10\.0\.0\.1; got http:\/\/10\.0\.0\.1\/shop\/mcp/,
  )
  const secret = await connect('cursor', '--token-env', 'eyJhbGciOi.x')
  assert.match(secret.stderr, /--token-env must be the name of an environment variable/)
})

test('unknown clients and prefixes are refused, with what may be meant', async (t) => {
  const { connect } = project(t)
  assert.deepEqual(await connect('curser').then(({ code, stderr }) => [code, stderr]), [
    2,
    'plantgw: unknown client curser: did you mean cursor?\n',
  ])
  assert.match(
    (await connect()).stderr,
    /missing required argument 'client'\nusage: plantgw connect .*<client> .*\nclient: claude-code, /,
  )
  assert.match((await connect('cursor', '/shpo')).stderr, /has no prefix \/shpo: did you mean \/shop\?/)
  assert.match(
    (await connect('cursor', 'shop')).stderr,
    /a prefix begins with a slash: did you mean \/shop\?/,
  )
  assert.match(
    (await connect('cursor', BOTH.shop)).stderr,
    /a prefix is a path such as \/garden, and --url has/,
  )
})

test('a server of the same name that leads elsewhere stays, unless --force is given', async (t) => {
  const { connect, pathOf } = project(t)
  const path = pathOf('cursor')
  mkdirSync(dirname(path))
  const text = '{"mcpServers": {"shop": {"command": "x"}, "mine": {"url": "https://example.com"}}}'
  writeFileSync(path, text)
  const refused = await connect('cursor')
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /already has a server `shop` that leads elsewhere; nothing was written/)
  assert.equal(readFileSync(path, 'utf8'), text)
  assert.equal((await connect('cursor', '--force')).code, 0)
  assert.deepEqual(urlsIn('cursor', path), { ...BOTH, mine: 'https://example.com' })
  assert.equal(readFileSync(`${path}.plantgw-backup`, 'utf8'), text)
})

test('what a person added to a server stays when its token changes', async (t) => {
  const { connect, pathOf } = project(t)
  const path = pathOf('cursor')
  mkdirSync(dirname(path))
  const mine = { url: BOTH.shop, disabled: true, headers: { 'X-Mine': '1' } }
  writeFileSync(path, JSON.stringify({ mcpServers: { shop: mine } }))
  assert.equal((await connect('cursor', '/shop', '--token-env', 'TT', '--force')).code, 0)
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')).mcpServers.shop, {
    ...mine,
    headers: { 'X-Mine': '1', Authorization: 'Bearer ${env:TT}' },
  })
  const codex = pathOf('codex')
  mkdirSync(dirname(codex))
  const table = `[mcp_servers.shop]\nenabled = false # for now\nurl = "${BOTH.shop}"\n`
  writeFileSync(codex, `${table}\n[profiles.fast]\n`)
  assert.equal((await connect('codex', '/shop', '--token-env', 'TT')).code, 0)
  assert.equal(readFileSync(codex, 'utf8'), `${table}bearer_token_env_var = "TT"\n\n[profiles.fast]\n`)
})

test('a file that cannot be read or is no JSON is left as it is', async (t) => {
  const { connect, pathOf } = project(t)
  const path = pathOf('cursor')
  mkdirSync(dirname(path))
  writeFileSync(path, '{"mcpServers": {]}')
  const broken = await connect('cursor')
  assert.equal(broken.code, 2)
  assert.ok(broken.stderr.includes(`${path}:1:17: this is not JSON`), broken.stderr)
  assert.equal(readFileSync(path, 'utf8'), '{"mcpServers": {]}')
  writeFileSync(path, Buffer.from([0xff, 0xfe]))
  assert.match(
    (await connect('cursor')).stderr,
    /cannot read .*mcp\.json: it is not UTF-8; nothing was written/,
  )
  const folder = pathOf('gemini')
  mkdirSync(folder, { recursive: true })
  assert.match((await connect('gemini')).stderr, /cannot read .*settings\.json: it is not a file/)
})

test('permissions and owner stay, a link stays a link, and the backup is beside the file', async (t) => {
  const { connect, pathOf, home } = project(t)
  const path = pathOf('gemini')
  const real = join(home, 'dotfiles.json')
  writeFileSync(real, '{"theme": "dark"}')
  chmodSync(real, 0o640)
  mkdirSync(dirname(path))
  symlinkSync(real, path)
  assert.equal((await connect('gemini')).code, 0)
  assert.equal(JSON.parse(readFileSync(real, 'utf8')).theme, 'dark')
  assert.deepEqual(urlsIn('gemini', real), BOTH)
  assert.equal(statSync(real).mode & 0o777, 0o640)
  const backup = `${real}.plantgw-backup`
  assert.equal(readFileSync(backup, 'utf8'), '{"theme": "dark"}')
  assert.equal(existsSync(`${path}.plantgw-backup`), false)
  if (process.getuid?.() !== 0) return
  chownSync(real, 4711, 4712)
  const { stdout } = await connect('gemini', '--remove', '/shop')
  assert.match(stdout, /^Removed from /)
  for (const { uid, gid } of [statSync(real), statSync(backup)]) assert.deepEqual([uid, gid], [4711, 4712])
})

test('a backup is not written through a link that somebody placed there', async (t) => {
  const { connect, pathOf, home } = project(t)
  const path = pathOf('cursor')
  mkdirSync(dirname(path))
  writeFileSync(path, '{"mine": 1}')
  const victim = join(home, 'victim')
  writeFileSync(victim, 'untouched')
  symlinkSync(victim, `${path}.plantgw-backup`)
  assert.equal((await connect('cursor')).code, 0)
  assert.equal(readFileSync(victim, 'utf8'), 'untouched')
  assert.equal(readFileSync(`${path}.plantgw-backup`, 'utf8'), '{"mine": 1}')
})

test('--remove --print says what would be removed, and --remove always says something', async (t) => {
  const { connect, pathOf } = project(t)
  const path = pathOf('cursor')
  await connect('cursor')
  const before = readFileSync(path, 'utf8')
  const { stdout } = await connect('cursor', '--remove', '--print')
  assert.equal(stdout, `Would be removed from ${path}: desk, shop\n`)
  assert.equal(readFileSync(path, 'utf8'), before)
  const elsewhere = await connect('cursor', '--remove', '--url', 'http://127.0.0.1:1')
  assert.equal(elsewhere.stdout, `${path} has no server for http://127.0.0.1:1\n`)
})

test('without a home folder no file is written into the working folder', async (t) => {
  const { cwd } = project(t)
  const { code, stderr } = await run(t, ['connect', 'cursor'], { cwd, env: { HOME: '' } })
  assert.equal(code, 2)
  assert.match(stderr, /^plantgw: cannot find the file of Cursor: set HOME to the absolute path/)
  assert.equal(existsSync(join(cwd, '.cursor')), false)
})

test('without a storage the running gateway is asked what it serves', async (t) => {
  const { cwd, connect } = project(t)
  const port = await freePort()
  writeFileSync(join(cwd, 'plantgw.yaml'), `port: ${port}\n`)
  const alone = await connect('cursor')
  assert.equal(alone.code, 2)
  assert.match(alone.stderr, /name no `storage`, so only the running gateway knows the prefixes/)
  const gateway = plantgw(t, ['serve', 'configs'], { cwd })
  await gateway.until(/Try it:/)
  const printed = await connect('cursor', '--print')
  assert.deepEqual(JSON.parse(printed.stdout), {
    mcpServers: {
      desk: {
        url: `http://127.0.0.1:${port}/desk/mcp`,
        headers: { Authorization: 'Bearer ${env:PLANTGW_TOKEN}' },
      },
      shop: { url: `http://127.0.0.1:${port}/shop/mcp` },
    },
  })
  writeFileSync(join(cwd, 'plantgw.yaml'), 'port: 1\n')
  const byUrl = await connect('cursor', '--print', '--url', `http://localhost:${port}`)
  assert.equal(JSON.parse(byUrl.stdout).mcpServers.shop.url, `http://localhost:${port}/shop/mcp`)
})

test('serve prints the lines that connect a client, as they can be run', async (t) => {
  const { cwd } = project(t)
  const port = String(await freePort())
  const gateway = plantgw(t, ['serve', '--port', port], { cwd })
  await gateway.until(/Try it:/)
  const lines = gateway.stdout().match(/node \S+ (?:connect|tools) .*/g) ?? []
  const base = `http://127.0.0.1:${port}`
  assert.deepEqual(lines, [
    `node ${BIN} connect claude-code /desk --url ${base} --token-env PLANTGW_TOKEN`,
    `node ${BIN} connect claude-code /shop --url ${base}`,
    `node ${BIN} tools ${base}/shop/mcp`,
  ])
  const byNpx = plantgw(t, ['serve', '--port', '0'], { cwd, env: { npm_command: 'exec' } })
  await byNpx.until(/npx plantgw tools /)
  for (const line of lines)
    assert.equal(
      (await run(t, line.split(' ').slice(2), { cwd, env: { HOME: join(cwd, 'home') } })).code,
      0,
      line,
    )
})

test('the console shows the URL of each prefix and the command that connects a client', async (t) => {
  const { cwd } = project(t, { publicUrl: 'https://tools.example.com' })
  const port = String(await freePort())
  const gateway = plantgw(t, ['serve', '--port', port], { cwd })
  await gateway.until(/Try it:/)
  const answer = await fetch(`http://127.0.0.1:${port}/_console/connect`)
  const page = (await answer.text()).replaceAll('&amp;', '&').replaceAll('&quot;', '"')
  assert.ok(page.includes('<code>https://tools.example.com/desk/mcp</code>'))
  for (const name of CLIENT_NAMES) assert.ok(page.includes(`>${name}</option>`))
  assert.ok(
    page.includes(
      'plantgw connect claude-code /desk --url https://tools.example.com --token-env PLANTGW_TOKEN<',
    ),
  )
  assert.equal(page.includes('a-very-long-token'), false)
})

test('a client file that is no plain file, or is read-only, is refused and stays', async (t) => {
  const { connect, pathOf } = project(t)
  const path = pathOf('cursor')
  mkdirSync(dirname(path))
  execFileSync('mkfifo', [path])
  const pipe = await connect('cursor')
  assert.equal(pipe.code, 2)
  assert.match(pipe.stderr, /cannot read .*: it is not a file; nothing was written/)
  rmSync(path)
  writeFileSync(path, '{}')
  chmodSync(path, 0o444)
  const readOnly = await connect('cursor')
  assert.equal(readOnly.code, 2)
  assert.match(readOnly.stderr, /cannot write .*: it is read-only; nothing was written/)
  assert.equal(readFileSync(path, 'utf8'), '{}')
  assert.equal(existsSync(`${path}.plantgw-backup`), false)
})
