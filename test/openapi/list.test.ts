import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { run, temporaryFolder } from '../support/process.ts'
import { document } from './imported.ts'

const shop = document(
  {
    '/orders': {
      get: { operationId: 'listOrders', tags: ['orders'], summary: 'Lists orders' },
      trace: { tags: ['orders'] },
    },
    '/users/{id}': { get: { operationId: 'getUser', tags: ['users'], description: 'One user' } },
    '/ping': { get: {} },
  },
  { tags: [{ name: 'orders', 'x-displayName': 'Orders of goods', description: 'What was bought.' }] },
)

async function list(t: TestContext, ...args: string[]) {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'shop.json'), JSON.stringify(shop))
  const result = await run(t, ['import', 'openapi', 'shop.json', '--list', ...args], { cwd })
  return { ...result, cwd }
}

test('--list prints the operations below their tags, and writes nothing', async (t) => {
  const { code, stdout, stderr, cwd } = await list(t, '-o', 'configs')
  assert.deepEqual([code, stderr], [0, ''])
  assert.equal(
    stdout,
    `shop.json: 4 operations, 3 can be imported, 1 skipped

orders (2): Orders of goods. What was bought.
  GET /orders    listOrders  Lists orders
  TRACE /orders  -           skipped: the method TRACE cannot be called

users (1)
  GET /users/{id}  getUser  One user

no tag (1)
  GET /ping  get_ping
`,
  )
  assert.equal(existsSync(join(cwd, 'configs')), false)
})

test('--list says what a selection leaves out, as JSON too', async (t) => {
  const { stdout } = await list(t, '--tag', 'users')
  assert.match(stdout, /^shop.json: 4 operations, 1 can be imported, 0 skipped, 3 not selected\n/)
  assert.match(stdout, /\n {2}GET \/orders {4}not selected {2}Lists orders\n/)
  const { code, stdout: json } = await list(t, '--tag', 'users', '--format', 'json')
  assert.equal(code, 0)
  const { operations, imported, notSelected, tags, listed } = JSON.parse(json)
  assert.deepEqual([operations, imported, notSelected], [4, 1, 3])
  assert.deepEqual(tags, [{ name: 'orders', title: 'Orders of goods', description: 'What was bought.' }])
  assert.deepEqual(listed, [
    { operation: 'GET /orders', tags: ['orders'], summary: 'Lists orders' },
    { operation: 'TRACE /orders', tags: ['orders'], summary: '' },
    { operation: 'GET /users/{id}', tags: ['users'], summary: 'One user', name: 'getUser' },
    { operation: 'GET /ping', tags: [], summary: '' },
  ])
})

test('a description without operations, and a selection of none, get advice', async (t) => {
  const cwd = temporaryFolder(t)
  const of = async (value: object, ...args: string[]) =>
    await run(t, ['import', 'openapi', '-', ...args], { cwd, input: JSON.stringify(value) })
  const info = { title: 'Shop', version: '1' }
  const advice = '  Give a description of an API with `paths`: webhooks and components cannot be called\n'
  const head = '-: 0 operations, 0 imported, 0 skipped\n'
  const webhooks = { sold: { post: { responses: {} } } }
  const left =
    '  1 left out: the gateway does not receive calls of an API\n      the description: `webhooks`\n'
  for (const [value, more] of [
    [{ openapi: '3.0.3', info, paths: {} }, ''],
    [{ openapi: '3.1.0', info, components: {} }, ''],
    [{ openapi: '3.1.0', info, webhooks }, left],
  ] as const) {
    const { code, stdout, stderr } = await of(value)
    assert.deepEqual([code, stdout, stderr], [1, '', head + more + advice])
    const listed = await of(value, '--list')
    assert.deepEqual(
      [listed.code, listed.stdout],
      [1, `-: 0 operations, 0 can be imported, 0 skipped\n${advice}`],
    )
  }
  assert.match(
    (await of(shop, '--tag', 'none')).stderr,
    /, 4 not selected\n {2}Nothing is selected: --list shows the tags and operations\n$/,
  )
})
