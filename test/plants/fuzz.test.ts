import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from '../../src/json/index.ts'
import { int64, int64OfJson } from '../../src/plants/int64.ts'
import { FormatError, read, write } from '../../src/plants/plant-format.ts'
import { sample } from '../support/rest.ts'
import { appOn, call, memory } from './helpers.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n
const anyInt64 = fc.bigInt({ min: MIN, max: MAX })
/** Near the ends of int64, of doubles' integers, and zero. */
const edge = fc
  .tuple(fc.constantFrom(MIN, MAX, 2n ** 53n, -(2n ** 53n), 0n), fc.bigInt({ min: -3n, max: 3n }))
  .map(([a, b]) => a + b)

test('any object with the fields of a plant is answered 200 or 400, and stored exactly when 200', async () => {
  const field = fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue())
  const id = fc.oneof(anyInt64.map(String), edge.map(String), fc.json())
  await fc.assert(
    fc.asyncProperty(id, field, fc.option(field, { nil: undefined }), async (idText, name, tag) => {
      const { store, written } = memory()
      const rest = JSON.stringify({ name, tag }).slice(1)
      const response = await call(appOn(store), '/plants', { body: `{"id":${idText},${rest}` })
      const answer = (await response.json()) as Record<string, unknown>
      assert.ok([200, 400].includes(response.status), JSON.stringify(answer))
      assert.equal(written.length, response.status === 200 ? 1 : 0)
      if (response.status !== 200) return assert.equal(answer.error, 400)
      assert.deepEqual(answer, tag === undefined ? { name } : { name, tag })
    }),
  )
})

test('int64 takes the decimal text of every int64, and no other text', () => {
  fc.assert(
    fc.property(fc.oneof(anyInt64, edge, fc.bigInt()), (value) => {
      assert.equal(int64(String(value)), value >= MIN && value <= MAX ? value : undefined)
    }),
  )
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+0-9. ]{0,22}$/)), (text) => {
      const value = int64(text)
      if (value !== undefined) assert.equal(String(value), text.replace(/^-0$/, '0'))
    }),
  )
})

test('an id in JSON is what exact arithmetic says of its digits', () => {
  const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,20})$/)
  const fraction = fc.stringMatching(/^[0-9]{0,20}$/)
  fc.assert(
    fc.property(
      fc.boolean(),
      digits,
      fraction,
      fc.integer({ min: -25, max: 25 }),
      (minus, whole, part, exponent) => {
        const text = `${minus ? '-' : ''}${whole}${part && `.${part}`}e${exponent}`
        const found = int64OfJson(parse(text))
        // value = mantissa * 10 ** (exponent - part.length), as a fraction of two integers
        const power = exponent - part.length
        const top = BigInt(whole + part) * 10n ** BigInt(Math.max(power, 0)) * (minus ? -1n : 1n)
        const bottom = 10n ** BigInt(Math.max(-power, 0))
        if (top % bottom !== 0n) return assert.equal(found, 'must be an integer', text)
        const value = top / bottom
        assert.equal(found, value >= MIN && value <= MAX ? value : 'must be within int64', text)
      },
    ),
    { numRuns: sample(2000) },
  )
})

test('an exponent of any length is judged at once', () => {
  const nines = '9'.repeat(300)
  assert.equal(int64OfJson(parse(`1e${nines}`)), 'must be within int64')
  assert.equal(int64OfJson(parse(`1e-${nines}`)), 'must be an integer')
  assert.equal(int64OfJson(parse(`0.0e${nines}`)), 0n)
  assert.equal(int64OfJson(parse(`1${'0'.repeat(300)}e-300`)), 1n)
})

test('what is written is read again; any other text is a FormatError or a sound store', () => {
  const plant = fc.record(
    { name: fc.string({ unit: 'binary' }), tag: fc.string() },
    { requiredKeys: ['name'] },
  )
  const stored = fc.record({ owner: fc.string(), plant }, { noNullPrototype: true })
  fc.assert(
    fc.property(fc.array(fc.tuple(anyInt64, stored)), fc.nat(), (entries, cut) => {
      const snapshot = new Map(
        [...new Map(entries)].map(([id, { owner, plant }], index) => [
          id,
          { owner, place: index + 1, plant: { ...plant } },
        ]),
      )
      const text = [...write(snapshot)].join('')
      assert.deepEqual(read(text), snapshot)
      const half = text.slice(0, cut % (text.length - 2))
      assert.throws(() => read(half), FormatError, 'no beginning of a file is taken for the whole')
    }),
  )
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      try {
        read(text)
      } catch (error) {
        assert.ok(error instanceof FormatError)
      }
    }),
  )
})
