import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  ExactNumber,
  JSON_LIMITS,
  JsonLimitError,
  parse,
  parseVerbatim,
  plain,
  stringify,
} from '../../src/json/index.ts'

test('integers of any size and long decimals survive a round trip', () => {
  for (const text of (
    '9223372036854775807 -9223372036854775808 ' +
    '{"id":18446744073709551616,"a":[0.1234567890123456789]} 1e400 105e-324 0.30000000000000004'
  ).split(' '))
    assert.equal(stringify(parse(text)), text)
})

test('numbers that a double holds are plain numbers', () => {
  assert.deepEqual(
    parse('[1, 1.0, 1e3, 0.1, 9007199254740991, 0.000000000000000000]'),
    [1, 1, 1000, 0.1, 9007199254740991, 0],
  )
  assert.equal(parse('9007199254740993'), 9007199254740993n)
  assert.ok(parse('1e-400') instanceof ExactNumber)
})

test('a key named __proto__ is a key', () => {
  const value = parse('{"__proto__":{"x":12345678901234567890}}') as Record<string, unknown>
  assert.deepEqual(Object.keys(value), ['__proto__'])
  assert.equal(value.x, undefined)
})

test('nesting too deep is a SyntaxError, not a crash', () => {
  assert.throws(() => parse(`${'['.repeat(200_000)}12345678901234567890${']'.repeat(200_000)}`), SyntaxError)
})

test('what exceeds a limit is refused, and what just reaches it is not', () => {
  const { depth, digits, values, longNumbers } = JSON_LIMITS
  const list = (count: number, item: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => item(i)).join()
  const shapes: [string, (count: number) => string, number][] = [
    ['depth of arrays', (n) => '['.repeat(n) + ']'.repeat(n), depth],
    ['depth of objects', (n) => `${'{"a":'.repeat(n - 1)}{}${'}'.repeat(n - 1)}`, depth],
    [
      'depth beside a long number',
      (n) => `[12345678901234567890,${'['.repeat(n - 1)}${']'.repeat(n - 1)}]`,
      depth,
    ],
    ['digits', (n) => '9'.repeat(n), digits],
    ['digits with a sign, a point and an exponent', (n) => `-${'1'.repeat(n - 3)}.5e-12`, digits],
    ['values', (n) => `[${list(n, () => '0')}]`, values],
    ['the same key', (n) => `{${list(n, () => '"a":0')}}`, values],
    ['empty arrays', (n) => `[${list(n / 2, () => '[]')}${n % 2 ? ',0' : ''}]`, values],
    ['long numbers', (n) => `[${list(n, () => '12345678901234567')}]`, longNumbers],
    ['numbers beyond a double', (n) => `[${list(n, () => '1e999')}]`, longNumbers],
  ]
  for (const [name, shape, limit] of shapes) {
    assert.doesNotThrow(() => parse(shape(limit)), name)
    assert.throws(() => parse(shape(limit + 1)), JsonLimitError, name)
  }
})

test('different keys are bounded, those of equal records are not', () => {
  const object = (count: number) => `{${Array.from({ length: count }, (_, i) => `"k${i}":0`).join()}}`
  assert.doesNotThrow(() => parse(object(JSON_LIMITS.keys)))
  // Hashes of different keys may be equal, so that a few more pass.
  assert.throws(() => parse(object(JSON_LIMITS.keys * 1.1)), JsonLimitError)
  const objects = Array.from({ length: JSON_LIMITS.keys * 1.1 }, (_, i) => `{"k${i}":0}`)
  assert.throws(() => parse(`[${objects.join()}]`), JsonLimitError)
  const record = JSON.stringify({ id: 1, name: 'a', city: 'b', zip: 'c', tags: ['d'] })
  assert.doesNotThrow(() => parse(`[${Array(40_000).fill(record).join()}]`))
})

test('brackets, colons and digits in strings and keys do not count', () => {
  const text = '[[[{:{:99'.repeat(5000)
  const escaped = '\\"['.repeat(5000)
  const value = { [text]: text, [escaped]: [escaped, '\\'] }
  assert.deepEqual(parse(JSON.stringify(value)), value)
})

/** JSON texts without white space whose numbers are written in any way. */
const anyNumbers = fc
  .array(
    fc.oneof(
      fc.constantFrom(...'1.10 1.0 -0 -0.0 1e2 1E+2 1e21 0.000001 0.0000001 -0.0000001'.split(' ')),
      fc.stringMatching(/^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,18})?(?:[eE][+-]?\d{1,3})?$/),
      fc.double({ noDefaultInfinity: true, noNaN: true }).map(String),
      fc.constant('"1.10"'),
    ),
  )
  .map((items) => `{"list":[${items}],"deep":{"__proto__":[${items}]}}`)

test('parseVerbatim keeps the text of every number, plain gives the values of parse', () => {
  fc.assert(
    fc.property(anyNumbers, (text) => {
      const value = parseVerbatim(text)
      assert.equal(stringify(value), text)
      assert.deepEqual(plain(value), parse(text))
    }),
  )
})

test('of very many numbers the first ones keep their text, the others their value', () => {
  const text = `[${Array(JSON_LIMITS.longNumbers + 1).fill('1.10')}]`
  const value = parseVerbatim(text)
  assert.match(stringify(value), /^\[1\.10,1\.10,.*,1\.1,1\.1\]$/)
  assert.deepEqual(plain(value), parse(text))
})

test('plain copies only what changes', () => {
  const value = parseVerbatim('{"a":[1,2],"b":{"c":1.0}}') as { a: unknown; b: unknown }
  const read = plain(value as never) as typeof value
  assert.equal(read.a, value.a)
  assert.notEqual(read.b, value.b)
  assert.equal(plain(value.a as never), value.a)
})
