import assert from 'node:assert/strict'
import { test } from 'node:test'
import { document, imported, operation, toolsOf } from './imported.ts'

/** The schema that an argument comes to. */
async function converted(schema: object, schemas: object = {}) {
  const content = { 'application/json': { schema: { type: 'object', properties: { a: schema } } } }
  const given = operation({ requestBody: { content } }, { method: 'post', components: { schemas } })
  const made = await toolsOf(given)
  const { description, ...rest } = made.schema().properties.a!
  return { schema: rest, description, made }
}

const CASES: [name: string, schema: object, expected: object][] = [
  ['nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
  [
    'nullable with enum',
    { type: 'string', nullable: true, enum: ['a'] },
    { type: ['string', 'null'], enum: ['a', null] },
  ],
  ['types of 3.1', { type: ['integer', 'null'], minimum: 1 }, { type: ['integer', 'null'], minimum: 1 }],
  [
    'x-nullable with enum',
    { type: 'string', 'x-nullable': true, enum: ['a'] },
    { type: ['string', 'null'], enum: ['a', null] },
  ],
  [
    'an enum with null, without a type',
    { enum: ['a', null] },
    { type: ['string', 'null'], enum: ['a', null] },
  ],
  ['const', { const: 'a' }, { type: 'string', enum: ['a'] }],
  [
    'anyOf with null',
    { anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
    { type: ['string', 'null'], maxLength: 3 },
  ],
  [
    'oneOf',
    { oneOf: [{ type: 'string' }, { type: 'integer' }] },
    { anyOf: [{ type: 'string' }, { type: 'integer' }] },
  ],
  [
    'oneOf of one',
    { oneOf: [{ $ref: '#/components/schemas/Pet' }] },
    { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  ],
  [
    'allOf',
    {
      allOf: [
        { $ref: '#/components/schemas/Pet' },
        { type: 'object', required: ['age'], properties: { age: { type: 'integer' } } },
      ],
    },
    {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer' } },
      required: ['name', 'age'],
    },
  ],
  [
    'exclusive limits of 3.0',
    { type: 'number', minimum: 0, exclusiveMinimum: true },
    { type: 'number', exclusiveMinimum: 0 },
  ],
  ['a default', { type: 'integer', default: 3 }, { type: 'integer', default: 3 }],
  ['a default that does not fit', { type: 'integer', default: 'x' }, { type: 'integer' }],
  ['an enum that does not fit', { type: 'integer', enum: ['x'] }, { type: 'integer' }],
  ['formats that nobody checks', { type: 'integer', format: 'int64' }, { type: 'integer' }],
  ['limits beyond doubles', { type: 'integer', maximum: 2 ** 63 }, { type: 'integer' }],
  ['a pattern of another language', { type: 'string', pattern: '(?i)abc' }, { type: 'string' }],
  [
    'a pattern that takes others forever',
    { type: 'string', pattern: '^(a+)+$' },
    { type: 'string', pattern: '^(a+)+$' },
  ],
  ['a pattern that no linear engine can run', { type: 'string', pattern: '(a)\\1' }, { type: 'string' }],
  [
    'an array that does not say what it holds',
    { type: 'array' },
    { type: 'array', items: { type: ['string', 'number', 'boolean', 'object', 'array', 'null'] } },
  ],
  [
    'keywords of OpenAPI',
    { type: 'object', discriminator: { propertyName: 'x' }, xml: {}, externalDocs: {} },
    { type: 'object' },
  ],
  [
    'a map',
    { type: 'object', additionalProperties: { type: 'integer' } },
    { type: 'object', additionalProperties: { type: 'integer' } },
  ],
  ['a type that is none', { type: 'any' }, {}],
  ['anything', true as never, {}],
  [
    'a restriction',
    { type: 'object', properties: { x: { type: 'string' } }, anyOf: [{ required: ['x'] }] },
    { type: 'object', properties: { x: { type: 'string' } } },
  ],
]

const PET = {
  type: 'object',
  required: ['name', 'id'],
  properties: { name: { type: 'string' }, id: { type: 'integer', readOnly: true } },
}

for (const [name, schema, expected] of CASES)
  test(`schema: ${name}`, async () => {
    assert.deepEqual((await converted(schema, { Pet: PET })).schema, expected)
  })

test('cycles end, and what comes around again is told by its type', async () => {
  const Node = {
    type: 'object',
    description: 'A node',
    properties: {
      name: { type: 'string' },
      next: { $ref: '#/components/schemas/Node' },
      all: { type: 'array', items: { $ref: '#/components/schemas/Node' } },
    },
  }
  const { schema } = await converted({ $ref: '#/components/schemas/Node' }, { Node })
  const { next, all } = schema.properties as Record<
    string,
    { type: string; items?: object; properties?: object }
  >
  assert.deepEqual(next, { type: 'object', description: 'A node' })
  assert.deepEqual(all!.items, { type: 'object', description: 'A node' })
})

test('references that lead nowhere, to themselves or to another file allow any value, with a reason', async () => {
  const schemas = {
    Loop: { $ref: '#/components/schemas/Loop' },
    All: { allOf: [{ $ref: '#/components/schemas/All' }] },
    Any: { anyOf: [{ $ref: '#/components/schemas/Any' }] },
  }
  for (const $ref of (
    '#/components/schemas/Loop #/components/schemas/All #/components/schemas/Any #/nowhere ' +
    'other.yaml#/Pet #/%zz #'
  ).split(' ')) {
    const { schema, made } = await converted({ $ref }, schemas)
    assert.deepEqual(schema, {}, $ref)
    assert.equal(made.leftOut.length, 1, $ref)
  }
})

test('what explodes is made shallower until a model can afford it', async () => {
  const schemas = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [
      `S${i}`,
      {
        type: 'object',
        properties: Object.fromEntries(
          Array.from({ length: 10 }, (_, j) => [
            `p${j}`,
            { $ref: `#/components/schemas/S${(i + j + 1) % 30}` },
          ]),
        ),
      },
    ]),
  )
  const { made } = await converted({ $ref: '#/components/schemas/S0' }, schemas)
  assert.ok(JSON.stringify(made.list()).length < 9000)
})

test('a deep chain of schemas does no harm', async () => {
  const schemas = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, i) => [
      `S${i}`,
      { allOf: [{ $ref: `#/components/schemas/S${i + 1}` }] },
    ]),
  )
  const { made } = await converted({ $ref: '#/components/schemas/S0' }, schemas)
  assert.equal(made.imported, 1)
})

test('nested names of any kind are kept', async () => {
  const properties = JSON.parse(
    '{"__proto__": {"type": "string"}, "constructor": {"type": "string"}, "a.b": {"type": "string"}}',
  )
  const { schema, made } = await converted({ type: 'object', properties })
  assert.deepEqual(Object.keys(schema.properties as object), ['constructor', 'a.b'])
  assert.equal((await made.send({ a: { constructor: 'x' } })).body, '{"a":{"constructor":"x"}}')
})

test('descriptions: the own one, that of the schema, else none; plain, and cut', async () => {
  const parameter = (name: string, more: object) => ({
    name,
    in: 'query',
    schema: { type: 'string' },
    ...more,
  })
  const { list, schema } = await toolsOf(
    operation({
      summary: 'Lists **things**',
      description: `<p>All of <a href="/x">them</a>.</p>\n\n${'Very long. '.repeat(200)}`,
      parameters: [
        parameter('a', { description: 'See [docs](http://x)\n\nMore' }),
        parameter('pageSize', {}),
        parameter('c', { schema: { type: 'string', title: 'Sea' } }),
      ],
    }),
  )
  assert.ok(list()[0]!.description!.startsWith('Lists **things**. All of them . Very long.'))
  assert.ok(list()[0]!.description!.length <= 500)
  const descriptions = Object.values(schema().properties).map(({ description }) => description)
  assert.deepEqual(descriptions, ['See docs More', undefined, 'Sea'])
})

test('the text of a document is never a variable, a template, a comment or a secret of the configuration', async () => {
  const odd = 'costs ${PRICE} {{.Args.x}} # plantgw-ignore no-router: x'
  const secret = `ghp_${'a1B2'.repeat(9)}`
  const given = document(
    {
      '/a{{b}}/${C}': {
        get: { operationId: 'op', summary: odd, description: `Send ${secret}`, tags: ['${T}'] },
      },
    },
    { info: { title: 'A "quoted" ${NAME}\n# x', version: '1' } },
  )
  const { list, text, send } = await toolsOf(given)
  assert.ok(list()[0]!.description!.startsWith(`${odd.replace('w-i', 'w i')}. Send xxxx`))
  assert.ok(!text.includes(secret))
  assert.equal((await send({})).sent, undefined)
  assert.equal((await send({ b: 'x', C: 'y' })).sent, 'GET https://api.example.com/v1/a%7Bx%7D/%24y')
})

test('the same document makes the same text', () => {
  const given = operation({ tags: ['a'] })
  assert.equal(imported(given).configurations[0]!.text, imported(given).configurations[0]!.text)
})
