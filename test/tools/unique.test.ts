import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ExactNumber, type Json, type JsonObject, parse } from '../../src/json/index.ts'
import { schemaCompiler } from '../../src/tools/validators.ts'
import { sample } from '../support/rest.ts'

const validate = schemaCompiler()({ type: 'array', uniqueItems: true }, 'arguments')

/** Numbers that are written in several ways, and such that are the same as doubles only. */
const numbers = fc.constantFrom(
  ...'0 -0 0.0 1 1.0 10e-1 100e-2 0.1 1e-1 0.10000000000000000000 1e400 10e399'.split(' '),
  ...(
    '9007199254740992 9007199254740993 9007199254740993.0 100000000000000000000 1e20 -1 ' +
    '1.00000000000000000'
  ).split(' '),
)
const texts = fc.constantFrom('', 'a', '1', '#0', '[1]', '{"a":1}', 'null', '1e0')
const value = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    numbers,
    fc.constantFrom('null', 'true', 'false'),
    texts.map((text) => JSON.stringify(text)),
    fc.array(tie('json'), { maxLength: 3 }).map((items) => `[${items.join()}]`),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', '__proto__', '#'), tie('json')), {
        selector: ([name]) => name,
        maxLength: 3,
      })
      .map((members) => `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}`),
  ),
})).json

/** Equality of JSON Schema 2020-12 (core, 4.2.2), each pair by itself. */
function equal(a: Json, b: Json): boolean {
  if (isNumber(a) || isNumber(b)) return isNumber(a) && isNumber(b) && sameNumber(String(a), String(b))
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, i) => equal(item, b[i]!))
    )
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  const [left, right] = [a as JsonObject, b as JsonObject]
  const names = Object.keys(left)
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && equal(left[name]!, right[name]!))
  )
}

function isNumber(value: Json): value is number | bigint | ExactNumber {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof ExactNumber
}

/** As fractions of integers. */
function sameNumber(a: string, b: string): boolean {
  const [x, y] = [fraction(a), fraction(b)]
  return x.over * y.under === y.over * x.under
}

function fraction(text: string): { over: bigint; under: bigint } {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', decimals = ''] = mantissa.split('.')
  const power = Number(exponent) - decimals.length
  const digits = BigInt(whole + decimals)
  return power >= 0
    ? { over: digits * 10n ** BigInt(power), under: 1n }
    : { over: digits, under: 10n ** BigInt(-power) }
}

test('uniqueItems holds exactly where no two items are equal', () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 6 }), (texts) => {
      const items = parse(`[${texts.join()}]`) as Json[]
      const twins = items.some((item, i) => items.slice(0, i).some((other) => equal(item, other)))
      assert.equal(validate(items).length > 0, twins, texts.join())
    }),
    { numRuns: sample(5000) },
  )
})

test('the items that are equal are named', () => {
  const [error] = validate(parse('[1, {"a":1,"b":[2]}, "1", {"b":[2.0],"a":1.0}]'))
  assert.equal(error?.keyword, 'uniqueItems')
  assert.deepEqual(error?.params, { i: 3, j: 1 })
  assert.match(error?.message ?? '', /items ## 1 and 3 are identical/)
})

test('enum finds texts, numbers and objects, and keeps apart what looks alike', () => {
  const check = schemaCompiler()({ enum: ['1', 2, null, { a: [1], b: 2 }, [1]] }, 'arguments')
  for (const fits of ['"1"', '2', '2.0', 'null', '{"b":2,"a":[1.0]}', '[1]'])
    assert.deepEqual(check(parse(fits)), [], fits)
  for (const other of ['1', '"2"', 'false', '{"a":[1]}', '{"a":[1],"b":2,"c":3}', '[1,1]', '"[1]"', '0'])
    assert.equal(check(parse(other))[0]?.keyword, 'enum', other)
})
