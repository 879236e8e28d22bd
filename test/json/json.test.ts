import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ExactNumber, parse, stringify, toDoubles } from '../../src/json/index.ts'

test('integers of any size and long decimals survive a round trip', () => {
  for (const text of [
    '9223372036854775807',
    '-9223372036854775808',
    '{"id":18446744073709551616,"a":[0.1234567890123456789]}',
    '1e400',
    '0.30000000000000004',
  ])
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

test('any JSON text parses to what JSON.parse gives, and writes back to the same value', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      assert.deepEqual(toDoubles(parse(text)), JSON.parse(text))
      assert.deepEqual(JSON.parse(stringify(parse(text))), JSON.parse(text))
    }),
  )
})
