import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResponseShaping } from '../../src/config/model.ts'
import { arg, callable, compileAll, makeTool, text, upstream } from './harness.ts'

let body = ''
let type = 'application/json'
const target = await upstream((response) => response.writeHead(200, { 'content-type': type }).end(body))

function get(
  answer: unknown,
  response: Partial<ResponseShaping> | undefined,
  parts: Partial<Parameters<typeof callable>[0]> = {},
) {
  type = typeof answer === 'string' ? 'text/plain' : 'application/json'
  body = typeof answer === 'string' ? answer : JSON.stringify(answer)
  const shaped = response && { response: { drop: [], format: 'json' as const, fields: false, ...response } }
  return callable({ endpoint: target.origin, ...shaped, ...parts })()
}

const ISSUES = {
  total_count: 2,
  items: [
    { id: 1, title: 'a', user: { login: 'x', avatar_url: 'u' } },
    { id: 2, title: 'b', user: null },
  ],
}

test('select and drop leave their part of a JSON response', async () => {
  const { result, savedChars } = await get(ISSUES, { select: 'items[].{id, user: user.login}' })
  assert.deepEqual(result.content, [
    { type: 'text', text: '{"items":[{"id":1,"user":"x"},{"id":2,"user":null}]}' },
  ])
  assert.equal(savedChars, JSON.stringify(ISSUES).length - 52)
  const numbers = await callable({
    endpoint: target.origin,
    response: { select: 'price', drop: [], format: 'json', fields: false },
  })
  body = '{"id": 12345678901234567890, "price": 1.10}'
  assert.equal(text(await numbers()), '{"price":1.10}')
})

test('a response that is not JSON is not shaped', async () => {
  assert.equal(text(await get('plain text', { select: 'a' })), 'plain text')
})

test('a response with more JSON values than can be shaped is an error that says so', async () => {
  const many = { secret: 's', rows: Array(300_001).fill(1) }
  const outcome = await get(many, { select: 'rows', drop: ['**.secret'] })
  assert.equal(outcome.result.isError, true)
  assert.match(
    text(outcome),
    /answered 200 OK, but: The response cannot be shaped: the JSON has more than 300000 values\. Request less in one call\.$/,
  )
  // Without a mask the text is cut.
  assert.equal((await get(many, undefined)).result.isError, undefined)
})

test('a template reads what is shaped', async () => {
  const outcome = await get(
    ISSUES,
    { select: 'items[].{id}', maxItems: 1 },
    { responseBody: '{{len .Response.Data.items}} of {{.Response.Data.total_count}}: {{.Response.Body}}' },
  )
  assert.equal(text(outcome), '1 of : {"items":[{"id":1}]}')
  assert.equal(
    (outcome.result.content[1] as { text: string }).text,
    'Shortened: `items` has the first 1 of 2 items. For the rest, call again with arguments that ask for less, such as a filter or another page.',
  )
})

const OUTPUT = {
  type: 'object',
  required: ['total_count', 'items'],
  properties: {
    total_count: { type: 'integer' },
    items: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['id', 'user'],
        properties: {
          id: { type: 'integer' },
          title: { type: 'string' },
          user: { type: ['object', 'null'], properties: { login: { type: 'string' } } },
        },
      },
    },
  },
}

test('structured content and its schema are shaped together', async () => {
  const response = {
    select: 'items[].{id, user: user.login}',
    drop: [],
    format: 'csv' as const,
    fields: false,
  }
  const { result } = await get(ISSUES, response, { outputSchema: OUTPUT })
  assert.deepEqual(result, {
    content: [{ type: 'text', text: 'id,user\n1,x\n2,' }],
    structuredContent: {
      items: [
        { id: 1, user: 'x' },
        { id: 2, user: null },
      ],
    },
  })
  const { tools } = compileAll([makeTool({ endpoint: target.origin, outputSchema: OUTPUT, response })])
  assert.deepEqual(tools.list()[0]!.outputSchema, {
    type: 'object',
    properties: {
      items: {
        type: 'array',
        items: {
          type: 'object',
          properties: { id: { type: 'integer' }, user: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
          required: ['id'],
        },
      },
    },
    required: ['items'],
  })
  const wrong = await get({ total_count: 'many', items: [] }, response, { outputSchema: OUTPUT })
  assert.equal(wrong.failure, 'output-schema', 'the response is checked against the own schema first')
})

test('a list at the top is wrapped as before', async () => {
  const outputSchema = { type: 'array', items: OUTPUT.properties.items.items }
  const { result } = await get(ISSUES.items, { select: '[].id' }, { outputSchema })
  assert.deepEqual(result.structuredContent, { result: [{ id: 1 }, { id: 2 }] })
})

test('too long structured content keeps its form, or is an error', async () => {
  const items = Array.from({ length: 100 }, (_, id) => ({ id, title: `plant ${id}`, user: null }))
  const { result } = await get({ total_count: 100, items }, { maxChars: 500 }, { outputSchema: OUTPUT })
  const shown = result.structuredContent as typeof ISSUES
  assert.equal(JSON.stringify(shown), text({ result }))
  assert.ok(shown.items.length < 20)
  const strict = { ...OUTPUT, properties: { ...OUTPUT.properties, items: { type: 'array', minItems: 100 } } }
  const refused = await get({ total_count: 100, items }, undefined, {
    outputSchema: strict,
    limits: { resultChars: 500 },
  })
  assert.equal(refused.failure, 'output-schema')
  assert.match(text(refused), /shortened it does not match the outputSchema/)
  const wide = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`member${i}`, i]))
  const whole = await get(wide, undefined, { outputSchema: { type: 'object' }, limits: { resultChars: 500 } })
  assert.equal(whole.failure, 'too-large')
})

test('no result is longer than resultChars, and the definition says so where it is not the default', async () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: 'a plant' }))
  const { result, savedChars } = await get(rows, undefined)
  const [first, second] = result.content as { text: string }[]
  assert.ok(first!.text.length <= 100_000 && first!.text.length > 99_900)
  assert.equal(JSON.parse(first!.text).at(-1).id, JSON.parse(first!.text).length - 1)
  assert.match(second!.text, /^Shortened: the list has the first [\d,]+ of 20,000 items\. /)
  assert.equal(savedChars, JSON.stringify(rows).length - first!.text.length - second!.text.length)
  const { tools } = compileAll([
    makeTool({ endpoint: target.origin, name: 'usual' }),
    makeTool({ endpoint: target.origin, name: 'limited', limits: { resultChars: 5_000 } }),
    makeTool({
      endpoint: target.origin,
      name: 'larger',
      meta: { a: 1 },
      response: { drop: [], format: 'json', fields: false, maxChars: 300_000 },
    }),
  ])
  assert.deepEqual(
    tools.list().map(({ _meta }) => _meta),
    [undefined, { 'anthropic/maxResultSizeChars': 5_000 }, { 'anthropic/maxResultSizeChars': 300_000, a: 1 }],
  )
})

test('a call asks for less with fields, which is not sent', async () => {
  body = JSON.stringify(ISSUES)
  type = 'application/json'
  const response = {
    select: 'items[].{id, user: user.login}',
    drop: [],
    format: 'json' as const,
    fields: true,
  }
  const parts = {
    endpoint: target.origin,
    method: 'POST',
    args: [arg('q', 'body')],
    requestBody: '{{toJSON .Args}}',
    outputSchema: OUTPUT,
    response,
  }
  const call = callable(parts)
  const narrow = await call({ q: 'x', fields: 'items[].user' })
  assert.deepEqual(narrow.result.structuredContent, { items: [{ user: 'x' }, { user: null }] })
  assert.equal(target.last().body.toString(), '{"q":"x"}')
  assert.deepEqual((await call({})).result.structuredContent, {
    items: [
      { id: 1, user: 'x' },
      { id: 2, user: null },
    ],
  })
  const none = await call({ fields: 'items[].title' })
  assert.deepEqual(none.result.structuredContent, { items: [{}, {}] })
  const requests = target.received.length
  assert.equal(
    text(await call({ fields: 'items[.id' })),
    'The argument `fields` has `[` without `]`; `[]` stands for every item at `[`. No request was sent; write paths such as `items[].{id, user.login}`.',
  )
  assert.match(
    text(await call({ fields: 'a: items' })),
    /^The argument `fields` gives a name to a member at `a: items`\./,
  )
  assert.match(text(await call({ fields: 7 })), /fields/)
  assert.equal(target.received.length, requests)
  const [definition] = compileAll([makeTool(parts)]).tools.list()
  const { properties } = definition!.inputSchema as { properties: Record<string, { type: string }> }
  assert.deepEqual([Object.keys(properties), properties.fields!.type], [['q', 'fields'], 'string'])
  assert.equal(JSON.stringify(definition!.outputSchema).includes('required'), false)
})

test('fields alone shape a response, also one that a template reads', async () => {
  body = JSON.stringify(ISSUES)
  type = 'application/json'
  const response = { drop: [], format: 'json' as const, fields: true }
  const call = callable({ endpoint: target.origin, response })
  assert.equal(text(await call({ fields: 'items[].id' })), '{"items":[{"id":1},{"id":2}]}')
  assert.equal(text(await call({})), body)
  const counted = callable({ endpoint: target.origin, response, responseBody: '{{toJSON .Response.Data}}' })
  assert.equal(text(await counted({ fields: 'total_count' })), '{"total_count":2}')
})

test('no member of an answer is lost beside a table, whatever its name', async () => {
  const { result } = await get(JSON.parse('{"rows": [{"a": 1}], "__proto__": {"b": 2}}'), { format: 'csv' })
  assert.match(JSON.stringify(result.content), /__proto__/)
})
