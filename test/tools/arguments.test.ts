import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../src/json/index.ts'
import { arg, callable, compileAll, makeTool, text, upstream } from './harness.ts'

const target = await upstream()
const endpoint = `${target.origin}/things`

test('every faulty argument is named, with what was expected, what came and the nearest name', async () => {
  const call = callable({
    name: 'createThing',
    method: 'POST',
    endpoint,
    args: [
      arg('title', 'body', { required: true, description: 'What it is called' }),
      arg('count', 'body', { type: 'integer' }),
      arg('color', 'body', { enum: ['red', 'green'] }),
      arg('tags', 'body', { type: 'array', items: { type: 'string' } }),
      arg('owner', 'body', {
        type: 'object',
        properties: { pet: { properties: { name: { type: 'string' } }, required: ['name'] } },
      }),
      arg('open', 'body', { type: 'boolean' }),
    ],
  })
  const before = target.received.length
  const outcome = await call({
    titel: 'x',
    count: '5',
    color: 'gren',
    tags: ['a', 7],
    owner: { pet: { age: 1 } },
    open: { secret: 'value' },
  })
  assert.equal(outcome.failure, 'arguments')
  assert.equal(outcome.result.isError, true)
  assert.deepEqual(text(outcome).split('\n').sort(), [
    '- `color` must be one of "red", "green"; got "gren"; did you mean "green"?',
    '- `count` must be an integer; got a string (write it without quotes)',
    '- `open` must be a boolean; got an object',
    '- `owner.pet.name` is missing',
    '- `tags[1]` must be a string; got an integer',
    '- `titel` is not an argument; did you mean `title`?',
    '- `title` is missing: a string, What it is called',
    'Invalid arguments for createThing; no request was sent:',
  ])
  assert.equal(target.received.length, before)
})

test('arguments that are no object are refused, and absent ones are none', async () => {
  const call = callable({ endpoint })
  for (const bad of [[], 'x', 1, null]) assert.match(text(await call(bad)), /must be an object; got .*/)
  assert.equal((await call(undefined)).result.isError, undefined)
})

test('a tool without arguments says so', async () => {
  assert.match(
    text(await callable({ endpoint })({ x: 1 })),
    /`x` is not an argument; this tool takes no arguments/,
  )
})

test('an omitted argument takes its default by type, and null for an optional one is omission', async () => {
  const call = callable({
    method: 'POST',
    endpoint,
    args: [
      arg('flag', 'body', { type: 'boolean', default: false }),
      arg('list', 'body', { type: 'array', default: [] }),
      arg('size', 'body', { type: 'integer', default: 20 }),
      arg('name', 'body', { default: '' }),
      arg('none', 'body'),
    ],
  })
  for (const args of [{}, { flag: null, list: null, size: null, name: null, none: null }]) {
    assert.equal((await call(args)).failure, undefined)
    assert.deepEqual(JSON.parse(target.last().body.toString()), { flag: false, list: [], size: 20, name: '' })
  }
})

test('null for a required argument is missing', async () => {
  const call = callable({ endpoint, args: [arg('id', 'query', { required: true })] })
  assert.match(text(await call({ id: null })), /`id` is missing/)
})

test('names of Object.prototype are names like any other', async () => {
  const call = callable({ method: 'POST', endpoint, args: [arg('toString', 'body', { default: 'x' })] })
  assert.equal((await call({})).failure, undefined)
  assert.equal(target.last().body.toString(), '{"toString":"x"}')
  assert.match(
    text(await call(JSON.parse('{"__proto__":{"toString":"y"}}'))),
    /`__proto__` is not an argument/,
  )
})

test('integers beyond a double are valid and arrive exactly', async () => {
  const call = callable({
    method: 'POST',
    endpoint: `${endpoint}/{{.Args.id}}`,
    args: [arg('id', 'path', { type: 'integer', required: true }), arg('price', 'body', { type: 'number' })],
  })
  const outcome = await call(parse('{"id":9223372036854775807,"price":0.12345678901234567890}'))
  assert.equal(outcome.failure, undefined, JSON.stringify(outcome.result))
  assert.equal(target.last().url, '/things/9223372036854775807')
  assert.equal(target.last().body.toString(), '{"price":0.12345678901234567890}')
})

test('the input schema says all that the arguments say', () => {
  const { tools } = compileAll([
    makeTool({
      endpoint: `${endpoint}/{{.Args.id}}`,
      method: 'POST',
      title: 'Thing',
      description: 'Does things',
      annotations: { readOnlyHint: false },
      meta: { 'example.com/x': 1 },
      args: [
        arg('id', 'path', { required: true, type: 'integer', description: 'Number' }),
        arg('tags', 'query', { type: 'array', items: { type: 'string', enum: ['a', 'b'] } }),
        arg('owner', 'body', {
          type: 'object',
          properties: {
            name: { type: 'string' },
            pets: { items: { properties: { age: { type: 'integer' } } } },
          },
        }),
        arg('sort', 'query', { enum: ['up', 'down'], default: 'up' }),
      ],
    }),
  ])
  assert.deepEqual(tools.list(), [
    {
      name: 'tool',
      title: 'Thing',
      description: 'Does things',
      annotations: { readOnlyHint: false },
      _meta: { 'example.com/x': 1 },
      inputSchema: {
        type: 'object',
        properties: {
          id: { type: 'integer', description: 'Number' },
          tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
          owner: {
            type: 'object',
            properties: {
              name: { type: 'string' },
              pets: { type: 'array', items: { type: 'object', properties: { age: { type: 'integer' } } } },
            },
          },
          sort: { type: 'string', enum: ['up', 'down'], default: 'up' },
        },
        required: ['id'],
        additionalProperties: false,
      },
    },
  ])
})

test('null for an optional argument of an inputSchema is omission where its type is not null', async () => {
  const call = callable({
    endpoint: `${target.origin}/things`,
    args: [arg('a', 'query', { type: 'string' }), arg('b', 'query'), arg('c', 'query')],
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: ['integer', 'boolean'] }, c: { type: 'string' } },
      required: ['c'],
    },
  })
  assert.equal((await call({ a: null, b: null, c: 'x' })).failure, undefined)
  assert.equal(target.last().url, '/things?c=x')
  assert.match(text(await call({ c: null })), /`c` must be a string; got null/)
})

test('an inputSchema of the tool replaces the one made from args, and is held', async () => {
  const call = callable({
    method: 'POST',
    endpoint,
    inputSchema: {
      type: 'object',
      properties: { when: { type: 'string', format: 'date' }, n: { type: ['integer', 'null'], minimum: 3 } },
      required: ['when'],
    },
    requestBody: '{"when": {{.Args.when}}, "n": {{.Args.n}}}',
  })
  assert.match(
    text(await call({ when: 'tomorrow', n: 1 })),
    /`when` must match format "date"; got "tomorrow"\n- `n` must be >= 3; got 1/,
  )
  assert.equal((await call({ when: '2026-01-02', n: null })).failure, undefined)
  assert.equal(target.last().body.toString(), '{"when": "2026-01-02", "n": null}')
})

test('a flood of faults costs no more than the first of them', async () => {
  const call = callable({
    endpoint,
    args: [arg('list', 'query', { type: 'array', items: { type: 'string' } })],
  })
  const faults = async (length: number) =>
    text(await call({ list: new Array(length).fill(1) }))
      .split('\n')
      .slice(1)
  assert.equal((await faults(30)).length, 21)
  assert.equal((await faults(30)).at(-1), '- and 10 more')
  assert.deepEqual(await faults(100_000), ['- `list[0]` must be a string; got an integer'])
})

test('arguments nested too deep are an error', async () => {
  const call = callable({ method: 'POST', endpoint, args: [arg('o', 'body', { type: 'object' })] })
  const depth = 200_000
  const deep = JSON.parse(`{"o":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`)
  assert.equal((await call(deep)).failure, 'arguments')
})

test('a schema that cannot be compiled ends the call, not the process', async () => {
  const call = callable({
    endpoint,
    inputSchema: { type: 'object', properties: { a: { $ref: '#/nowhere' } } },
  })
  assert.equal((await call({ a: 1 })).failure, 'internal')
})

test('tools come in the order of allowedTools, else of tools', () => {
  const tools = ['a', 'b', 'c'].map((name) => makeTool({ name, endpoint }))
  const names = (allowedTools?: string[]) =>
    compileAll(tools, { server: allowedTools ? { allowedTools } : {} })
      .tools.list()
      .map(({ name }) => name)
  assert.deepEqual(names(), ['a', 'b', 'c'])
  assert.deepEqual(names(['c', 'a']), ['c', 'a'])
  assert.deepEqual(names([]), [])
})

test('a form-data argument may be a file', () => {
  const { tools } = compileAll([
    makeTool({
      method: 'POST',
      endpoint,
      args: [
        arg('file', 'form-data'),
        arg('files', 'form-data', { type: 'array', items: { type: 'string' } }),
      ],
    }),
  ])
  const { file, files } = tools.list()[0]!.inputSchema.properties as never as {
    file: { anyOf: { type: string }[] }
    files: { items: { anyOf: { type: string }[] } }
  }
  assert.deepEqual(
    file.anyOf.map(({ type }) => type),
    ['string', 'object'],
  )
  assert.deepEqual(
    files.items.anyOf.map(({ type }) => type),
    ['string', 'object'],
  )
})

test('JSON text where only an array or object fits is read; keys that clients add are dropped', async () => {
  const items = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  const call = callable({
    method: 'POST',
    endpoint,
    args: [
      arg('list', 'body', { type: 'array', items }),
      arg('owner', 'body', { type: 'object' }),
      arg('text', 'body'),
      arg('either', 'body', { type: ['array', 'string'] as never }),
    ],
  })
  const sent = async (args: object) => {
    const before = target.received.length
    const outcome = await call(args)
    return target.received.length > before ? String(target.received.at(-1)!.body) : text(outcome)
  }
  for (const [given, wanted] of [
    [{ list: '[{"n":1}]' }, '{"list":[{"n":1}]}'],
    [{ list: ['{"n":12345678901234567890}'] }, '{"list":[{"n":12345678901234567890}]}'],
    [{ list: '["{\\"n\\":1}"]', owner: ' {"a":1}' }, '{"list":[{"n":1}],"owner":{"a":1}}'],
    [{ text: '[1]' }, '{"text":"[1]"}'],
    [{ text: 'x', toolCallId: 'call_1' }, '{"text":"x"}'],
    [{ text: 'x', toolCallId: 'c', sessionId: 's', action: 'a', chatInput: 'i', tool: 't' }, '{"text":"x"}'],
    [{ text: 'x', wait_for_previous: true }, '{"text":"x"}'],
  ])
    assert.equal(await sent(given as object), wanted)
  assert.match(await sent({ list: '{"n":1}' }), /`list` must be an array; got a string/)
  assert.match(await sent({ list: '[{"m":1}]' }), /`list\[0\]\.n` is missing/)
  assert.match(await sent({ list: '[1' }), /`list` must be an array; got a string/)
  assert.match(await sent({ text: 'x', sessionId: 's' }), /`sessionId` is not an argument/)
  assert.match(await sent({ texts: 'x', toolCallId: 'c' }), /`texts` is not an argument; did you mean `text`/)
  const own = callable({ method: 'POST', endpoint, args: [arg('toolCallId', 'body')] })
  await own({ toolCallId: 'mine' })
  assert.equal(String(target.received.at(-1)!.body), '{"toolCallId":"mine"}')
})

test('a single body argument of a Content-Type of bytes is Base64, or a data: URI, of what is sent', async () => {
  const args = [arg('data', 'body')]
  const headers = { 'Content-Type': 'image/png' }
  const call = callable({ method: 'POST', endpoint, headers, args })
  for (const data of ['iVAA/w==', 'data:image/png;base64,iVAA/w==']) {
    await call({ data })
    assert.deepEqual([...target.received.at(-1)!.body], [0x89, 0x50, 0, 0xff])
    assert.equal(target.received.at(-1)!.headers['content-type'], 'image/png')
  }
  assert.match(text(await call({ data: '!' })), /must be base64/)
})
