import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createIndex, type SearchableTool } from '../../src/discovery/index.ts'
import TABLE from '../../src/discovery/synonyms.json' with { type: 'json' }

const shop: SearchableTool[] = [
  { name: 'listOrders', description: 'Lists the orders of a customer.', method: 'GET', path: '/orders' },
  { name: 'getOrder', description: 'Reads one order.', method: 'GET', path: '/orders/{id}' },
  { name: 'deleteOrder', description: 'Deletes an order.', method: 'DELETE', path: '/orders/{id}' },
  { name: 'createRefund', description: 'Creates a refund of a payment.', method: 'POST', path: '/refunds' },
  { name: 'create_config_map', description: 'Creates a ConfigMap.', group: 'cluster' },
  { name: 'render', description: 'Draws.', keywords: ['label printer', 'Etikett'], group: 'labels' },
  {
    name: 'ship',
    description: 'Sends parcels.',
    inputSchema: {
      properties: {
        carrier: { type: 'string', enum: ['hermes', 'swallow'], description: 'Who takes the parcel' },
        address: { type: 'object', properties: { postcode: { type: 'string' } } },
      },
    },
  },
]

function names(query: string | readonly string[], limit = 3, tools = shop): string[] {
  const index = createIndex(tools)
  return index.search(query, { limit }).map(({ at }) => tools[at]!.name)
}
const first = (query: string, tools = shop) => names(query, 1, tools)[0]

describe('what a query finds', () => {
  test('names are split at case and underscores, and words are stemmed', () => {
    assert.equal(first('deleting orders'), 'deleteOrder')
    assert.equal(first('config map'), 'create_config_map')
    assert.equal(first('configmap'), 'create_config_map')
    assert.equal(first('CONFIG_MAPS'), 'create_config_map')
  })
  test('a verb that people use for it, also apart from its particle', () => {
    assert.equal(first('drop order'), 'deleteOrder')
    assert.equal(first('throw that silly old order away'), 'deleteOrder')
    assert.equal(first('the customer wants her money back'), 'createRefund')
  })
  test('the method says what a tool does when nothing else does', () => {
    const tools = ['GET', 'DELETE', 'PATCH'].map((method) => ({
      name: `${method}Pot`,
      method,
      path: '/pots',
    }))
    assert.equal(first('remove pot', tools), 'DELETEPot')
    assert.equal(first('edit pot', tools), 'PATCHPot')
  })
  test('names, values and descriptions of arguments', () => {
    assert.equal(first('postcode'), 'ship')
    assert.equal(first('swallow'), 'ship')
    assert.equal(first('carrier'), 'ship')
  })
  test('keywords and groups', () => {
    assert.equal(first('label printer'), 'render')
    assert.equal(first('Etiketten'), undefined)
    assert.equal(first('etikett'), 'render')
    assert.equal(first('labels'), 'render')
  })
  test('one letter may be wrong, missing, too many or swapped', () => {
    for (const query of ['refumd', 'refnd', 'refuund', 'reufnd'])
      assert.equal(first(query), 'createRefund', query)
    assert.equal(first('ord'), undefined)
  })
  test('nothing, and words that no tool has, find nothing', () => {
    for (const query of ['', '  ', '!?', 'zeppelin']) assert.deepEqual(names(query), [], query)
  })
  test('a query of stop words alone looks for them', () => {
    const tools = [
      { name: 'a', description: 'Gets what is not there.' },
      { name: 'b', description: 'Draws.' },
    ]
    assert.deepEqual(names('what is not', 3, tools), ['a'])
  })
  test('accents and scripts without spaces', () => {
    const tools = [
      { name: 'a', description: 'Prépare un café' },
      { name: 'b', description: '删除订单' },
      { name: 'c', description: '创建用户' },
    ]
    assert.equal(first('cafe', tools), 'a')
    assert.equal(first('订单', tools), 'b')
  })
  test('what is deprecated comes after what replaces it', () => {
    const tools = [
      { name: 'a', description: 'Deprecated. Lists pots.' },
      { name: 'b', description: 'Lists pots.' },
      { name: 'c', description: 'Lists pots. Deprecated: list plants instead.' },
    ]
    assert.deepEqual(names('list pots', 3, tools), ['b', 'c', 'a'])
  })
})

describe('the order of results', () => {
  test('tools that are as good are ordered by name, however they were listed', () => {
    const tools = ['c', 'a', 'b'].map((name) => ({ name, description: 'Waters plants.' }))
    assert.deepEqual(names('water', 3, tools), ['a', 'b', 'c'])
    assert.deepEqual(names('water', 2, tools), ['a', 'b'])
    assert.deepEqual(names('water', 3, tools.toReversed()), ['a', 'b', 'c'])
  })
  test('a question goes to what reads, a request to what changes something', () => {
    const tools = ['GET', 'POST'].map((method) => ({ name: `pots${method}`, method, path: '/pots' }))
    for (const query of [
      'which pots are there',
      'how many pots do we have',
      'Could you please show me the pots?',
      'do we have pots',
    ])
      assert.deepEqual(names(query, 2, tools), ['potsGET', 'potsPOST'], query)
    for (const query of [
      'how do I make a pot',
      'my grandmother needs a pot',
      'put a pot there',
      'do not give away our pots',
    ])
      assert.deepEqual(names(query, 2, tools), ['potsPOST', 'potsGET'], query)
    assert.deepEqual(names('pots', 2, tools), names('Töpfe pots', 2, tools), 'words that do not tell')
  })
  test('what is less deep in the API goes first among as many', () => {
    const deep = [
      { name: 'a', description: 'Waters plants.', path: '/x/y/z' },
      { name: 'b', description: 'Waters plants.', path: '/x' },
    ]
    assert.deepEqual(names('water plants', 2, deep), ['b', 'a'])
  })
  test('several queries take turns', () => {
    const found = names(['delete order', 'refund', 'config map'], 3)
    assert.deepEqual(new Set(found), new Set(['deleteOrder', 'createRefund', 'create_config_map']))
  })
  test('what several queries find goes first among as many', () => {
    assert.deepEqual(names(['carrier', 'refund', 'payment'], 2), ['createRefund', 'ship'])
  })
  test('a query that matches well has more of the first places than one that does not', () => {
    const tools = [
      { name: 'a', description: 'Waters one plant.' },
      { name: 'b', description: 'Waters one plant slowly.' },
      { name: 'c', description: 'Draws a zebra, among others.' },
      { name: 'd', description: 'Paints a zebra, among others.' },
    ]
    const found = names(['zebra crossing stripes faded water', 'water one plant'], 2, tools)
    assert.deepEqual(found, ['a', 'b'])
  })
  test('only tools that are accepted are found, and as many as there would be', () => {
    const index = createIndex(shop)
    const hits = index.search('order', { limit: 2, accepts: (at) => shop[at]!.name !== 'getOrder' })
    assert.deepEqual(hits.map(({ at }) => shop[at]!.name).sort(), ['deleteOrder', 'listOrders'])
  })
})

describe('the words of people', () => {
  test('stand for those of APIs, and not the other way', () => {
    assert.equal(first('coworker', [{ name: 'a', description: 'Gets a user.' }]), 'a')
    assert.equal(first('user', [{ name: 'a', description: 'Gets a coworker.' }]), undefined)
  })
  test('articles and pronouns do not part a phrase', () => {
    assert.equal(first('give her the money back'), 'createRefund')
    assert.equal(first('get rid of that order'), 'deleteOrder')
  })
  test('each line of the table says what is meant, and what is said for it', () => {
    const lines = [...TABLE.groups, ...TABLE.generic, ...TABLE.domains]
    assert.ok(lines.length > 500)
    for (const line of lines) {
      const sides = line.split(' = ').map((side) => side.split(', '))
      assert.ok(sides.length === 1 || sides.length === 2, line)
      const phrases = sides.flat()
      assert.ok(
        phrases.length > 1 && phrases.every((phrase) => /^[a-z0-9]+(?: [a-z0-9]+)*$/.test(phrase)),
        line,
      )
      assert.equal(new Set(phrases).size, phrases.length, `twice the same: ${line}`)
    }
  })
})

describe('why a tool was found', () => {
  const index = createIndex(shop)
  const why = (query: string, name: string) =>
    index.explain(
      query,
      shop.findIndex((tool) => tool.name === name),
    )
  test('the word, what it matched, and where', () => {
    assert.deepEqual(why('drop orders', 'deleteOrder'), [
      { word: 'drop', matched: 'delete', fields: ['name', 'summary', 'method'] },
      { word: 'orders', matched: 'order', fields: ['name', 'summary', 'path'] },
    ])
  })
  test('a phrase is one word', () => {
    assert.deepEqual(
      why('money back', 'createRefund').map(({ word, matched }) => [word, matched]),
      [['money back', 'refund']],
    )
  })
})
