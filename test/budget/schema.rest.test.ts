import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSON_LIMITS, type Json, type JsonObject, parse, stringify } from '../../src/json/index.ts'
import { takes } from '../../src/mcp/http.ts'
import { nearest, proposal } from '../../src/text/index.ts'
import { argsReader } from '../../src/tools/args.ts'
import { schemaCompiler } from '../../src/tools/validators.ts'
import { TOLERATED, taken } from './held.ts'

const MIB = 1024 * 1024

/** As the arguments of a call: what is wrong is said as well. */
function call(schema: JsonObject, args: Json): string {
  const inputSchema: JsonObject = { type: 'object', ...schema }
  const tool = { name: 'probe', args: [], inputSchema } as never
  const known = stringify(schema).slice(0, 100_000)
  const read = readers.get(known) ?? argsReader(tool, inputSchema, schemaCompiler()(inputSchema, 'arguments'))
  readers.set(known, read)
  try {
    read(args)
    return 'fits'
  } catch (error) {
    return (error as { text?: string }).text ?? String(error)
  }
}
const readers = new Map<string, ReturnType<typeof argsReader>>()

function list(make: (index: number) => string, bytes = 4 * MIB): Json {
  const items: string[] = []
  let size = 0
  // Nothing larger is parsed, so that nothing larger is checked.
  let values = 1
  for (let item = make(0); size < bytes; item = make(items.length)) {
    values += 1 + item.replace(/[^,[{]/g, '').length
    if (values > JSON_LIMITS.values) break
    items.push(item)
    size += item.length + 1
  }
  return parse(`[${items.join()}]`)
}

const of = (schema: Json): JsonObject => ({ properties: { a: schema } })
const items = (schema: Json): JsonObject => of({ type: 'array', items: schema })
const times = (count: number, make: (index: number) => Json): Json[] =>
  Array.from({ length: count }, (_, i) => make(i))
const random = Array.from({ length: 4 * MIB }, (_, i) => 'ab'[(Math.imul(i, 2654435761) >>> 13) & 1]).join('')
const bushy = (depth: number): Json => (depth === 0 ? {} : { x: bushy(depth - 1), y: 1 })
const recursive: JsonObject = {
  $defs: {
    node: { anyOf: times(3, (i) => ({ properties: { x: { $ref: '#/$defs/node' } }, required: [`z${i}`] })) },
  },
  ...of({ $ref: '#/$defs/node' }),
}

const CASES: [name: string, schema: JsonObject, value: Json][] = [
  ['unique: 16,000 objects', of({ uniqueItems: true }), list((i) => `{"n":${i}}`, 160_000)],
  ['unique: objects', of({ uniqueItems: true }), list((i) => `{"n":${i}}`)],
  [
    'unique: members in turn',
    of({ uniqueItems: true }),
    list((i) => (i % 2 ? `{"a":1,"b":${i}}` : `{"b":${i},"a":1}`)),
  ],
  ['unique: integers', of({ uniqueItems: true, items: { type: 'integer' } }), list((i) => `${i}`)],
  ['unique: texts', of({ uniqueItems: true }), list((i) => `"text ${i}"`)],
  ['unique: long numbers', of({ uniqueItems: true }), times(50_000, (i) => 10n ** 20n + BigInt(i))],
  [
    'unique at each level',
    { $defs: { l: { uniqueItems: true, items: { $ref: '#/$defs/l' } } }, ...of({ $ref: '#/$defs/l' }) },
    parse(`${'['.repeat(100)}${'[1],[2],[3]'}${`,${times(200, (i) => `[${i}]`).join()}]`.repeat(100)}`),
  ],
  ['pattern: 26 characters', of({ pattern: '^(\\w+\\s?)*$' }), `${'a'.repeat(26)}!`],
  ['pattern: nested', of({ pattern: '^(\\w+\\s?)*$' }), `${'a'.repeat(4 * MIB)}!`],
  ['pattern: digits', of({ pattern: '^\\d*\\d*\\d*\\d*\\d*\\d*x$' }), '1'.repeat(4 * MIB)],
  ['pattern: blanks', of({ pattern: '\\s+$' }), `${' '.repeat(4 * MIB)}a`],
  ['pattern: many states', of({ pattern: '(a|b)*a(a|b){300}c$' }), random],
  ['pattern: 5,000 states', of({ pattern: '^(a|b)*a(a|b){12}$' }), random],
  ['pattern: other alphabets', of({ pattern: '^[\\p{L}\\p{M}]+$' }), 'éЖ語'.repeat(MIB / 2)],
  ['pattern: looking ahead', of({ pattern: '^(?=.*\\d)(?=.*[A-Z])(?!.*x).{8,}$' }), 'a1'.repeat(2 * MIB)],
  ['pattern: many texts', items({ pattern: '^[a-z]+$' }), list(() => '"ab"')],
  [
    'patternProperties',
    of({
      patternProperties: Object.fromEntries(times(300, (i) => `^(a|k)${i}$` as never).map((p) => [p, true])),
      additionalProperties: { type: 'integer' },
    }),
    Object.fromEntries(times(20_000, (i) => i).map((i) => [`k${i}`, 1])),
  ],
  [
    'propertyNames',
    of({ propertyNames: { pattern: '^k\\d+$' } }),
    Object.fromEntries(times(20_000, (i) => i).map((i) => [`k${i}`, 1])),
  ],
  ...'url uri uri-reference email hostname date-time regex uri-template byte duration json-pointer'
    .split(' ')
    .flatMap((format): [string, JsonObject, Json][] =>
      ['http://a:', '-', '%20', 'a.', '{a,', '@'].map((pump) => [
        `format ${format}: ${pump}`,
        of({ type: 'string', format }),
        `http://a${pump.repeat((4 * MIB) / pump.length)}\0`,
      ]),
    ),
  [
    'enum: 10,000 values for each item',
    items({ enum: times(10_000, (i) => `v${i}`) }),
    list(() => '"v9999"'),
  ],
  [
    'enum: 1,000 objects for each item',
    items({ enum: times(1000, (i) => ({ v: i })) }),
    list(() => '{"v":999}'),
  ],
  ['enum: no value of 4 MiB', of({ enum: times(10_000, (i) => `v${i}`) }), 'v'.repeat(4 * MIB)],
  [
    'enum: a value near to thousands',
    of({ enum: times(10_000, (i) => `${'v'.repeat(94)}${i}`) }),
    'v'.repeat(99),
  ],
  [
    'const for each item',
    items({ anyOf: times(1000, (i) => ({ const: { v: i } })) }),
    list(() => '{"v":999}'),
  ],
  [
    'anyOf for each item',
    items({ anyOf: times(20, (i) => ({ type: 'object', required: [`x${i}`] })) }),
    list(() => '{}'),
  ],
  ['anyOf of types for each item', items({ anyOf: times(100, () => ({ type: 'string' })) }), list(() => '1')],
  ['oneOf for each item', items({ oneOf: times(20, (i) => ({ minimum: i })) }), list(() => '1')],
  ['not for each item', items({ not: { const: 2, minimum: 0 } }), list(() => '1')],
  ['contains', of({ contains: { const: 2 } }), list(() => '1')],
  [
    'required of 1,000 for each item',
    items({ anyOf: [{ required: times(1000, (i) => `x${i}`) }, {}] }),
    list(() => '{}'),
  ],
  [
    'dependentSchemas of 1,000 for each item',
    items({
      dependentSchemas: Object.fromEntries(times(1000, (i) => i).map((i) => [`k${i}`, { required: ['z'] }])),
    }),
    list(() => '{}'),
  ],
  [
    'lengths of a long text',
    of({ anyOf: times(500, (i) => ({ type: 'string', maxLength: i })) }),
    'é'.repeat(2 * MIB),
  ],
  ['references that multiply', recursive, bushy(100)],
  [
    'a reference to itself',
    { $defs: { n: { anyOf: [{ $ref: '#/$defs/n' }, { type: 'string' }] } }, ...of({ $ref: '#/$defs/n' }) },
    1,
  ],
  ['thousands of faults', items({ type: 'string', minLength: 1 }), times(9000, () => 1)],
  [
    'thousands of faults of alternatives',
    items({ anyOf: times(20, (i) => ({ required: [`x${i}`] })) }),
    times(9000, () => ({})),
  ],
  [
    'thousands of unknown names',
    {
      properties: Object.fromEntries(times(500, (i) => i).map((i) => [`${'name'.repeat(20)}${i}`, {}])),
      additionalProperties: false,
    },
    '',
  ],
]

for (const [name, schema, value] of CASES)
  test(name, async () => {
    const args = name.endsWith('unknown names')
      ? Object.fromEntries(times(9000, (i) => i).map((i) => [`${'nam'.repeat(25)}${i}`, 1]))
      : { a: value }
    const ms = await taken(() => call(schema, args))
    assert.ok(ms <= TOLERATED, `${ms} ms: ${call(schema, args).slice(0, 200)}`)
  })

test('what is far from any bound is still checked in full', () => {
  assert.equal(call(items({ type: 'integer' }), { a: list(() => '1') }), 'fits')
  assert.equal(call(of({ uniqueItems: true }), { a: list((i) => `{"id":${i}}`, 500_000) }), 'fits')
  assert.equal(call(of({ pattern: '^[a-z]+$' }), { a: 'a'.repeat(4 * MIB) }), 'fits')
  assert.match(call(of({ pattern: '^[a-z]+$' }), { a: `${'a'.repeat(4 * MIB)}!` }), /must match pattern/)
  assert.equal(call(of({ format: 'uri' }), { a: `data:image/png;base64,${'AAAA'.repeat(MIB)}` }), 'fits')
  assert.match(call(items({ minimum: 1 }), { a: times(50_000, () => 0) }), /must be >= 1/)
})

test('Accept, names and words of any length', async () => {
  const isWithin = async (ms: number, work: () => unknown) => assert.ok((await taken(work, ms)) <= ms)
  const spaces = ' '.repeat(15_000)
  for (const accept of [
    `a${spaces}b`,
    `a;${spaces};b`,
    `${spaces},`.repeat(10),
    ';'.repeat(60_000),
    `a/b;q=0${spaces}0`,
  ])
    await isWithin(20, () => takes(accept, 'text', 'html'))
  const names = times(10_000, (i) => `${'a'.repeat(90)}${i}`) as string[]
  for (const word of ['b'.repeat(95), 'a'.repeat(95), 'a'.repeat(4 * MIB)])
    for (const find of [nearest, proposal]) await isWithin(50, () => find(word, names))
  await isWithin(50, () => nearest('abc', ['a'.repeat(4 * MIB)]))
})
