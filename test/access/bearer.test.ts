import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { bearerTable, namedCaller } from '../../src/access/bearer.ts'
import { INITIALIZE, post, wire } from '../support/wire.ts'

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

test('a digest stands for its token, and a token is good until it expires', () => {
  let now = Date.parse('2027-01-30T23:59:59Z')
  const digest = createHash('sha256').update('first').digest('hex')
  const table = bearerTable(
    [
      { token: `sha256:${digest}`, caller: 'digest' },
      { token: `SHA256:${digest}`, caller: 'no digest' },
      { token: 'sha256:12', caller: 'wrong digest' },
      { token: 'day', expires: '2027-01-31', caller: 'day' },
      { token: 'hour', expires: '2027-01-31T02:00:00+02:00', caller: 'hour' },
      { token: 'never', expires: 'tomorrow', caller: 'wrong' },
    ],
    () => now,
  )
  const who = (token: string) => table(`Bearer ${token}`)?.caller
  assert.equal(who('first'), 'digest')
  assert.equal(who(`sha256:${digest}`), undefined, 'the digest is not the token')
  assert.equal(who('sha256:12'), undefined)
  assert.equal(who('day'), 'day')
  assert.equal(who('hour'), 'hour')
  assert.equal(who('never'), undefined)
  now += 1000
  assert.equal(who('day'), undefined)
  assert.equal(who('hour'), undefined)
  assert.equal(who('first'), 'digest')
})

test('only the exact token is found, whatever is sent', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const found = find(`Bearer ${text}`)
      if (found !== undefined) assert.equal(Buffer.from(text.trim(), 'latin1').toString(), found.token)
    }),
  )
})

test('authentication may wait, and a fault in it is an error of the gateway', async () => {
  const { app } = await wire({
    authenticate: async ({ headers }) => {
      if (headers.authorization === 'Bearer bug') throw new Error('a bug')
      return headers.authorization === 'Bearer me' ? namedCaller('me') : { status: 401, message: 'who?' }
    },
  })
  const status = async (token: string) =>
    (await post(app, '/one/mcp', INITIALIZE, { authorization: `Bearer ${token}` })).status
  assert.equal(await status('me'), 200)
  assert.equal(await status('you'), 401)
  assert.equal(await status('bug'), 500)
})
