import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'

async function project(t: TestContext): Promise<string> {
  const cwd = temporaryFolder(t)
  assert.equal((await run(t, ['init'], { cwd })).code, 0)
  return cwd
}

test('plantgw.yaml in this folder, PLANTGW_SETTINGS and --settings name the settings, the last one first', async (t) => {
  const cwd = await project(t)
  writeFileSync(join(cwd, 'other.yaml'), 'port: 1\nprot: 2\n')
  writeFileSync(join(cwd, 'third.yaml'), 'hots: x\n')
  const own = await run(t, ['validate', 'configs'], { cwd })
  assert.deepEqual([own.code, own.stdout], [0, '1 file, nothing wrong\n'])
  const env = { PLANTGW_SETTINGS: 'other.yaml' }
  assert.match(
    (await run(t, ['validate', 'configs'], { cwd, env })).stdout,
    /other\.yaml:2:1: error: unknown key/,
  )
  const named = await run(t, ['validate', 'configs', '-s', 'third.yaml'], { cwd, env })
  assert.match(named.stdout, /third\.yaml:1:1: error: unknown key/)
  const missing = await run(t, ['validate', 'configs'], { cwd, env: { PLANTGW_SETTINGS: 'none.yaml' } })
  assert.equal(missing.code, 2)
  assert.match(missing.stderr, /cannot read the settings file none\.yaml: no such file/)
})

test('a whole project can be validated: what is no configuration in its folders is passed over', async (t) => {
  const cwd = await project(t)
  mkdirSync(join(cwd, 'node_modules/else'), { recursive: true })
  writeFileSync(join(cwd, 'node_modules/else/x.yaml'), 'name: [\n')
  writeFileSync(join(cwd, 'package.json'), '{"name": "shop", "dependencies": {}}')
  const { code, stdout } = await run(t, ['validate', '.'], { cwd })
  assert.deepEqual([code, stdout], [0, '1 file, nothing wrong\n'])

  writeFileSync(join(cwd, 'configs/extra.json'), '{"name": "extra", "tools": [{"name": "x"}]}')
  assert.match((await run(t, ['validate', '.'], { cwd })).stdout, /configs\/extra\.json:1:\d+: error:/)
  writeFileSync(join(cwd, 'configs/extra.json'), '{"name": "extra", "tools": [')
  assert.match((await run(t, ['validate', '.'], { cwd })).stdout, /configs\/extra\.json:1:\d+: error:/)
  assert.equal((await run(t, ['validate', 'package.json'], { cwd })).code, 1)
})

test('a folder with other files only is reported as empty', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'package.json'), '{"name": "shop"}')
  const { code, stdout } = await run(t, ['validate', '.'], { cwd })
  assert.equal(code, 0)
  assert.match(stdout, /warning: the folder contains no configuration \[no-files\]/)
})

test('notes about names of files come after what is wrong in any of them', async (t) => {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'c'))
  for (const name of ['one', 'two'])
    writeFileSync(
      join(cwd, `c/${name}.yaml`),
      `name: ${name === 'one' ? 'shop' : 'garden'}\nrouters: [{ server: s, prefix: /${name} }]\nservers: [{ name: s, color: red }]\n`,
    )
  const { stdout } = await run(t, ['validate', 'c'], { cwd })
  const codes = [...stdout.matchAll(/\[([\w-]+)\]$/gm)].map(([, code]) => code)
  assert.deepEqual(codes, ['unknown-key', 'unknown-key', 'file-name', 'file-name'])
})

test('JSON configurations of a folder are served; the gateway says where things are', async (t) => {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'configs'))
  const tool = { name: 'hello', method: 'GET', endpoint: 'http://127.0.0.1:1/', description: 'Says hello' }
  const configuration = {
    name: 'greet',
    routers: [{ server: 'greet', prefix: '/greet' }],
    servers: [{ name: 'greet' }],
    tools: [tool],
  }
  writeFileSync(join(cwd, 'configs/greet.json'), JSON.stringify(configuration))
  const port = String(await freePort())
  const serving = plantgw(t, ['serve', 'configs', '--port', port], {
    cwd,
    env: { PLANTGW_LOG_FORMAT: 'json' },
  })
  await serving.until(/plantgw serves/)
  const ask = async (path: string, headers = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const home = await ask('/')
  assert.equal(home.status, 200)
  assert.deepEqual(home.body.served, ['/greet/mcp'])
  const page = await fetch(`http://127.0.0.1:${port}/`, { headers: { accept: 'text/html' } })
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(await page.text(), /<code>\/greet\/mcp<\/code>.*href="\/_console"/s)
  await serving.until(new RegExp(`console {2}http://127\\.0\\.0\\.1:${port}/_console`))
  const wrong = await ask('/great/mcp')
  assert.equal(wrong.status, 404)
  assert.deepEqual(wrong.body.served, ['/greet/mcp'])
  assert.match(String(wrong.body.message), /Did you mean \/greet\/mcp\?$/)
  // What a proxy passes on may come from anywhere, and a token is judged elsewhere.
  for (const headers of [{ 'x-forwarded-for': '203.0.113.9' }, { authorization: 'Bearer x' }]) {
    const stranger = await ask('/great/mcp', headers)
    assert.deepEqual(Object.keys(stranger.body), ['error', 'message'])
    assert.doesNotMatch(String(stranger.body.message), /greet/)
  }
  serving.child.kill('SIGINT')
  await serving.until(/press Ctrl-C again/)
  assert.equal(await serving.ended, 0)
})

test('that the port is in use is reported before any lock', async (t) => {
  const cwd = await project(t)
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const port = String((other.address() as AddressInfo).port)
  writeFileSync(join(cwd, 'gateway.pid'), String(process.pid))
  const { code, stderr } = await run(t, ['serve', '--port', port, '--pid', 'gateway.pid'], { cwd })
  assert.equal(code, 2)
  assert.match(stderr, new RegExp(`^plantgw: port ${port} on 127\\.0\\.0\\.1 is in use`, 'm'))
})

test('--quiet logs nothing but faults and prints no overview', { timeout: 90_000 }, async (t) => {
  const cwd = await project(t)
  const port = String(await freePort())
  const serving = plantgw(t, ['serve', '--quiet', '--pid', 'gateway.pid'], {
    cwd,
    env: { PLANTGW_PORT: port },
  })
  const call = ['call', '/plants', 'create_plant', 'id=7', 'name=Fern']
  while ((await run(t, call, { cwd, env: { PLANTGW_PORT: port } })).code !== 0);
  serving.child.kill('SIGINT')
  assert.equal(await serving.ended, 0)
  assert.equal(serving.stdout() + serving.stderr(), '')
})
