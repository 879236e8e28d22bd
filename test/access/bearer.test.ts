import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bearerChallenge, bearerTable } from '../../src/access/bearer.ts'

const entries = [
  { token: 'first', caller: 'a' },
  { token: 'second', caller: 'b' },
  { token: 'second', caller: 'c' },
  { token: 'zweiß', caller: 'd' },
]
const find = bearerTable(entries)

test('a known token finds its entry, the scheme in any case; of equal tokens the first counts', () => {
  assert.equal(find('Bearer first')?.caller, 'a')
  assert.equal(find('bEARER   second ')?.caller, 'b')
})

test('a token outside ASCII is compared by the bytes that were sent', () => {
  assert.equal(find(`Bearer ${Buffer.from('zweiß').toString('latin1')}`)?.caller, 'd')
})

test('what is missing, malformed or unknown finds nothing', () => {
  for (const header of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'first',
    'Basic first',
    'Bearerfirst',
    'Bearer first second',
    'Bearer firs',
    'Bearer first,',
    'Bearer FIRST',
    'Bearer f\u0169rst',
  ])
    assert.equal(find(header), undefined, String(header))
  assert.equal(bearerTable([{ token: '' }])('Bearer '), undefined)
})

test('only the exact token is found, whatever is sent', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const found = find(`Bearer ${text}`)
      if (found !== undefined) assert.equal(Buffer.from(text.trim(), 'latin1').toString(), found.token)
    }),
  )
})

test('the challenge names an invalid token only when a bearer token was tried', () => {
  assert.equal(bearerChallenge(undefined), 'Bearer')
  assert.equal(bearerChallenge('Basic abc'), 'Bearer')
  assert.equal(bearerChallenge('Bearers abc'), 'Bearer')
  assert.equal(bearerChallenge('bearer nope'), 'Bearer error="invalid_token"')
  assert.equal(bearerChallenge('Bearer'), 'Bearer error="invalid_token"')
})
