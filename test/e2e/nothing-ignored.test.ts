import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { freePort, run, temporaryFolder } from '../support/process.ts'

const SHOP = `name: shop
routers: [{server: shop, prefix: /shop}]
servers: [{name: shop, config: {key: "\${SHOP_KEY}"}}]
tools:
  - name: get_order
    description: Reads an order
    endpoint: "http://127.0.0.1:1/orders/{{.Args.id}}?key={{.Config.key}}"
    args: [{name: id, position: path, type: integer, required: true, description: Its number}]
    response: {select: "total, items.{id, name}, custmer", drop: ["items[].nam"]}
`

function project(t: Parameters<typeof temporaryFolder>[0]): string {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'configs'))
  writeFileSync(join(cwd, 'configs/shop.yaml'), SHOP)
  return cwd
}

describe('nothing is ignored in silence', () => {
  test('.env of the folder, by each command that reads configurations', async (t) => {
    const cwd = project(t)
    const commands = [
      ['validate', 'configs'],
      ['lint-templates', 'configs'],
      ['render', 'configs/shop.yaml', 'get_order', 'id=1'],
      ['explain', 'configs'],
      ['search', 'configs', 'order'],
      ['serve', 'configs', '--print-routes'],
    ]
    for (const args of commands) {
      const { stdout, stderr } = await run(t, args, { cwd })
      assert.match(stdout + stderr, /the environment variable SHOP_KEY is not set/, args.join(' '))
    }
    writeFileSync(join(cwd, '.env'), 'SHOP_KEY=abc\n')
    for (const args of commands) {
      const { code, stdout, stderr } = await run(t, args, { cwd })
      assert.deepEqual([code, stderr], [0, ''], `${args.join(' ')}: ${stdout}`)
    }
  })

  test('a folder called .env is none, and settings with errors are mentioned or refused', async (t) => {
    const cwd = project(t)
    mkdirSync(join(cwd, '.env'))
    writeFileSync(join(cwd, 'plantgw.yaml'), 'prt: 1\n')
    const env = { SHOP_KEY: 'abc' }
    const args = ['render', 'configs/shop.yaml', 'get_order', 'id=1']
    const found = await run(t, args, { cwd, env })
    assert.deepEqual(
      [found.code, found.stderr],
      [0, 'plantgw: plantgw.yaml has errors, so its `secrets` are not read: see `plantgw validate`\n'],
    )
    const named = await run(t, [...args, '--settings', 'plantgw.yaml'], { cwd, env })
    assert.deepEqual([named.code, named.stdout], [1, ''])
    assert.match(named.stderr, /plantgw\.yaml:1:1: error: unknown key `prt`/)
  })

  test('settings among the configurations, unless they are the settings in use', async (t) => {
    const cwd = project(t)
    const env = { SHOP_KEY: 'abc' }
    writeFileSync(join(cwd, 'configs/plantgw.yaml'), 'port: 25023\n')
    const found = await run(t, ['validate', 'configs'], { cwd, env })
    assert.match(
      found.stdout,
      /^configs\/plantgw\.yaml: warning: .* is not read \[unread-settings\]\n {2}hint: Use it with `--settings configs\/plantgw\.yaml`/,
    )
    const used = await run(t, ['validate', 'configs', '--settings', 'configs/plantgw.yaml'], { cwd, env })
    assert.deepEqual([used.code, used.stdout], [0, '1 file, nothing wrong\n'])
  })

  test('masks of `response` that match nothing, with the nearest member', async (t) => {
    const cwd = project(t)
    writeFileSync(join(cwd, 'answer.json'), '{"total": 5, "customer": 1, "items": [{"id": 1, "name": "a"}]}')
    const args = ['render', '/shop', 'get_order', 'id=1', '--response', 'answer.json', '--json']
    const { code, stdout, stderr } = await run(t, args, { cwd, env: { SHOP_KEY: 'abc' } })
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(JSON.parse(stdout).content[0].text), { total: 5 })
    assert.match(
      stderr,
      /`items` is an array, and the mask treats it as an object[\s\S]*?hint: Write `items\[\]`/,
    )
    assert.match(
      stderr,
      /the mask names `custmer`, which the response does not have there[\s\S]*?[Dd]id you mean `customer`/,
    )
    assert.match(stderr, /the mask names `nam`, .*[\s\S]*?[Dd]id you mean `name`/)
    assert.match(stderr, /\n3 warnings in 1 file\n/)
  })

  test('a variable of `credentials` that is not set', async (t) => {
    const cwd = temporaryFolder(t)
    const input = `name: a
servers: [{name: a, credentials: {type: static, value: "Bearer \${NOPE}"}}]
tools: [{name: a, endpoint: "http://127.0.0.1:1/"}]
`
    const { code, stdout, stderr } = await run(t, ['render', '-', 'a'], { cwd, input })
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /<stdin>:2:\d+: error: the environment variable NOPE is not set/)
  })
})

test('a missing file and wrong arguments exit with 2, a fault that was found with 1, for every command', async (t) => {
  const cwd = project(t)
  const env = { SHOP_KEY: 'abc' }
  writeFileSync(join(cwd, 'wrong.yaml'), 'tools: [{name: a, endpoint: "http://x/{{.Arg.id}}"}]\n')
  const port = await freePort()
  writeFileSync(join(cwd, 'plantgw.yaml'), `port: ${port}\nstorage: {type: directory, path: configs}\n`)
  const codeOf = async (...args: string[]) => (await run(t, args, { cwd, env })).code
  for (const words of [
    'validate',
    'lint-templates',
    'check-endpoints',
    'pin',
    'serve',
    'diff -f',
    'config apply -f',
  ]) {
    assert.equal(await codeOf(...words.split(' '), 'missing.yaml'), 2, words)
    assert.equal(await codeOf(...words.split(' '), 'wrong.yaml'), 1, words)
  }
  for (const [words, code] of [
    ['render missing.yaml get_order', 2],
    ['render wrong.yaml a', 1],
    ['render configs/shop.yaml get_order', 2],
    ['render configs/shop.yaml get_order id=x', 2],
    ['render configs/shop.yaml get_order id=1 --response missing', 2],
    ['search missing.yaml order', 2],
    ['search wrong.yaml order', 1],
    ['explain missing.yaml', 2],
    ['explain wrong.yaml', 1],
    ['import curl missing.txt', 2],
    ['import openapi missing.yaml', 2],
    ['validate configs --settings missing.yaml', 2],
    ['validate configs --lint-config missing.yaml', 2],
    ['call /shop', 2],
    ['validate --no-such-option', 2],
    ['validate --json --format sarif', 2],
  ] as const)
    assert.equal(await codeOf(...words.split(' ')), code, words)
})
