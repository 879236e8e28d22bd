import assert from 'node:assert/strict'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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

test('.env beside plantgw.yaml, --env-file and the environment set variables, the last one first', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'shop.yaml'), configuration('http://127.0.0.1:1', '${SHOP_KEY}'))
  const render = async (args: string[], env = {}) =>
    (await run(t, ['render', 'shop.yaml', 'key', '--show-secrets', ...args], { cwd, env })).stdout
  const unset = await run(t, ['validate', 'shop.yaml'], { cwd })
  assert.match(unset.stdout, /SHOP_KEY is not set/)
  writeFileSync(join(cwd, '.env'), 'SHOP_KEY="from .env"\n')
  assert.equal((await run(t, ['validate', 'shop.yaml'], { cwd })).code, 1, 'without settings it is not read')
  writeFileSync(join(cwd, 'plantgw.yaml'), 'port: 5299\n')
  assert.match(await render([]), /from \.env/)
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
  writeFileSync(
    join(cwd, 'configs/shop.yaml'),
    configuration(url, `\${SHOP_KEY} \${file:${join(cwd, 'one')}} \${FROM_ENV}`),
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

  rmSync(join(cwd, 'one'))
  await run(t, ['reload'], { cwd })
  await serving.until(/there is no such file/)
  assert.equal(await call(), 'folder-two file-two env-two', 'the last good version stays')
  serving.child.kill('SIGTERM')
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
