import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { after, test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { DEFAULT_LIMITS } from '../../src/config/index.ts'
import { credentialsFor } from '../../src/credentials/credential.ts'
import type { Json } from '../../src/json/index.ts'
import { HttpClient } from '../../src/net/index.ts'
import { silentLog } from '../../src/telemetry/log.ts'
import { compilePrompts, compileTools } from '../../src/tools/index.ts'
import { json, listen, text, upstream } from './harness.ts'

const http = new HttpClient()
after(() => http.drain())

/** A configuration of the examples, read as `serve` reads it. */
function example(name: string, env: Record<string, string>) {
  const file = new URL(`../../examples/configs/${name}.yaml`, import.meta.url)
  const { configuration, findings } = readConfiguration(
    { file: `${name}.yaml`, text: readFileSync(file, 'utf8') },
    env,
  )
  assert.deepEqual(
    findings.map(({ message }) => message),
    [],
  )
  const credentialsOf = credentialsFor({ http, guards: undefined, log: silentLog })
  const context = { env, limits: DEFAULT_LIMITS, http, credentialsOf }
  const { tools, problems } = compileTools(configuration!, configuration!.servers[0]!, context)
  assert.deepEqual(problems, [])
  const call = (tool: string, args: Json = {}, headers: Record<string, string> = {}) =>
    tools.get(tool)!.call(args, { headers, body: null, signal: new AbortController().signal })
  return { configuration: configuration!, tools, call }
}

const shopFile = new URL('../../examples/api/server.js', import.meta.url).href
const { createShop } = (await import(shopFile)) as { createShop(): HttpServer }
const shop = example('shop', { SHOP_URL: await listen(createShop()) })

test('query: an array, a boolean by default, a template over the answer', async () => {
  assert.equal(
    text(await shop.call('searchProducts', { tag: ['indoor', 'shade'] })),
    '1 found\n- FERN-1: Boston fern, 12.5 EUR, 7 in stock',
  )
  assert.match(text(await shop.call('searchProducts', { in_stock: true })), /^2 found\n- FERN-1.*\n- ROSE-1/)
  assert.match(
    text(await shop.call('searchProducts', { tag: ['sum'] })),
    /`tag\[0\]` must be one of .* did you mean "sun"\?/,
  )
})

test('path and header, with structured content', async () => {
  const { result } = await shop.call('getProduct', { sku: 'CACT-1', 'X-Currency': 'JPY' })
  assert.equal(result.structuredContent?.price, 1280)
  const missing = await shop.call('getProduct', { sku: 'NO-1' })
  assert.match(
    text(missing),
    /^GET http:\/\/127\.0\.0\.1:\d+\/products\/NO-1 answered 404 Not Found:\n.*no_such_product/,
  )
})

test('an image', async () => {
  const { result } = await shop.call('getPhoto', { sku: 'FERN-1' })
  assert.equal(result.content[0]?.type, 'image')
})

test('a nested body, and an error that says what to do', async () => {
  const customer = { name: 'Ada "the" First\n', email: 'ada@example.com' }
  const order = (sku: string) => ({ customer, items: [{ sku, quantity: 1 }], note: 'With "love"' })
  assert.equal(
    text(await shop.call('placeOrder', order('FERN-1'))),
    'Order 1 for Ada "the" First\n was placed.',
  )
  const short = await shop.call('placeOrder', order('CACT-1'))
  assert.equal(short.result.isError, true)
  assert.equal(
    text(short),
    'The order was not placed (409): Not enough in stock. Article CACT-1 is short; searchProducts with in_stock finds others.',
  )
  const faulty = text(
    await shop.call('placeOrder', { customer: { email: 1, address: {} }, items: [{ sku: 'FERN-1' }] }),
  )
  for (const expected of [
    '`customer.address.city` is missing',
    '`customer.email` must be a string',
    '`items[0].quantity` is missing',
  ])
    assert.ok(faulty.includes(expected), faulty)
  assert.equal(text(await shop.call('cancelOrder', { number: 1 })), '204 No Content (empty response)')
})

test('several files in one form', async () => {
  const outcome = await shop.call('uploadPhotos', {
    sku: 'FERN-1',
    images: [
      'data:image/png;base64,iVBORw0=',
      { filename: 'b.jpg', contentType: 'image/jpeg', data: '/9j/' },
    ],
  })
  assert.deepEqual(JSON.parse(text(outcome)), {
    sku: 'FERN-1',
    caption: null,
    images: [
      { name: 'images', type: 'image/png', size: 5 },
      { name: 'b.jpg', type: 'image/jpeg', size: 3 },
    ],
  })
})

test('a prompt', async () => {
  const { prompts, problems } = compilePrompts(shop.configuration, { env: {} })
  assert.deepEqual(problems, [])
  assert.equal(prompts.list[0]?.name, 'gift')
  assert.deepEqual(
    (await prompts.get('gift', { occasion: 'a {{birthday}}' })).result?.messages[0]?.content.text,
    'Find a plant for a {{birthday}} that is in stock, and say why it fits.',
  )
  assert.equal(
    (await prompts.get('gift', { occasion: 1 })).error,
    'Argument occasion of prompt gift must be a string',
  )
  assert.equal((await prompts.get('gift', {})).error, 'Missing argument of prompt gift: occasion')
  assert.equal((await prompts.get('gitf', {})).error, 'Unknown prompt: gitf. Did you mean gift?')
})

test('plants: every tool sends what the plant store wants', async () => {
  const store = await upstream((response, { method }) =>
    method === 'DELETE' ? response.writeHead(204).end() : json(response, { name: 'Fern' }),
  )
  const plants = example('plants', { PLANTGW_PORT: new URL(store.origin).port, PLANTS_TOKEN: 'secret' })
  assert.equal(
    text(await plants.call('createPlant', { id: 9223372036854775807n, name: 'Fern' })),
    '{"name":"Fern"}',
  )
  assert.equal(store.last().body.toString(), '{"id":9223372036854775807,"name":"Fern"}')
  assert.equal(store.last().headers.authorization, 'Bearer secret')
  assert.equal(
    text(await plants.call('deletePlant', { id: -9223372036854775808n })),
    'Deleted plant -9223372036854775808.',
  )
  assert.equal(store.last().url, '/plants/-9223372036854775808')
  await plants.call('listPlants')
  assert.deepEqual([store.last().method, store.last().url], ['GET', '/plants'])
  assert.deepEqual(
    plants.tools.list().map(({ name }) => name),
    ['listPlants', 'createPlant', 'deletePlant'],
  )
})
