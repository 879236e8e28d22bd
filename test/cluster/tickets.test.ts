import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createHops } from '../../src/cluster/hop.ts'
import { createTickets, type Ticket } from '../../src/cluster/tickets.ts'
import { sample } from '../support/rest.ts'

const SECRET = '0123456789abcdef0123456789abcdef'
const OWNER = 'http://10.0.0.7:5235'
const tickets = createTickets({ secrets: [SECRET] }, OWNER, () => 1_700_000_000_999)
const bound = { prefix: '/plants', caller: 'me' }
const given = { kind: 'upstream', id: 'x', revision: '2025-11-25', key: 'k', upstream: 'Öl"\n' } as const

/** What every process has of its own. */
function without(ticket: Ticket | undefined) {
  const { process, ...rest } = ticket as Ticket
  assert.match(process, /^[\w-]{8}$/)
  return rest
}

test('a ticket comes back as it went out, in characters that a session id may have', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.option(fc.string()), (id, prefix, caller) => {
      const to = { prefix, caller: caller ?? undefined }
      const token = tickets.issue({ ...given, id }, to)
      assert.match(token, /^[\x21-\x7e]+$/)
      assert.deepEqual(without(tickets.read(token, to)), {
        ...given,
        id,
        owner: OWNER,
        opened: 1_700_000_000,
      })
      assert.deepEqual(tickets.unseal(tickets.seal(id, to), to), { owner: OWNER, state: id })
    }),
  )
  const plain = { kind: 'held', id: 'x', revision: '2025-11-25' } as const
  assert.deepEqual(without(tickets.read(tickets.issue(plain, bound), bound)), {
    ...plain,
    owner: OWNER,
    opened: 1_700_000_000,
  })
})

test('it tells nothing, and two of the same are not alike', () => {
  const tokens = [tickets.issue(given, bound), tickets.issue(given, bound)]
  assert.notEqual(tokens[0], tokens[1])
  for (const token of tokens)
    assert.doesNotMatch(Buffer.from(token, 'base64url').toString(), /10\.0\.0|upstream/)
})

test('a ticket that was changed in any place is refused', () => {
  const token = tickets.issue(given, bound)
  const at = fc.nat({ max: token.length - 1 })
  const ascii = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code))
  fc.assert(
    fc.property(at, ascii, (i, character) => {
      fc.pre(token[i] !== character)
      assert.equal(tickets.read(token.slice(0, i) + character + token.slice(i + 1), bound), undefined)
    }),
    { numRuns: sample(2_000) },
  )
  fc.assert(
    fc.property(at, (length) => {
      assert.equal(tickets.read(token.slice(0, length), bound), undefined)
    }),
  )
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (more) => {
      assert.equal(tickets.read(token + more, bound), undefined)
      assert.equal(tickets.read(more + token, bound), undefined)
      assert.equal(tickets.read(more, bound), undefined)
    }),
  )
  const bytes = Buffer.from(token, 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    assert.equal(tickets.read(changed.toString('base64url'), bound), undefined)
  }
})

test('it is worth nothing elsewhere, to others, under another secret, or as something else', () => {
  const token = tickets.issue(given, bound)
  for (const other of [
    { ...bound, prefix: '/other' },
    { ...bound, caller: 'you' },
    { ...bound, caller: undefined },
    { prefix: '/plants","me', caller: undefined },
  ])
    assert.equal(tickets.read(token, other), undefined)
  assert.equal(createTickets({ secrets: [SECRET.replace('0', '1')] }, OWNER).read(token, bound), undefined)
  assert.equal(tickets.unseal(token, bound), undefined)
  assert.equal(tickets.read(tickets.seal('x', bound), bound), undefined)
})

test('a replica knows another by the signature of its request, and that one the answer by its proof', () => {
  const hops = createHops([SECRET], OWNER)
  const { header, proof } = hops.sign(OWNER, 'POST', '/a/mcp?x=1')
  assert.deepEqual(createHops([SECRET], OWNER).receive(header, 'POST', '/a/mcp?x=1'), { proof })
  assert.equal(hops.receive(header, 'GET', '/a/mcp?x=1'), undefined)
  assert.equal(hops.receive(header, 'POST', '/a/mcp'), undefined)
  assert.deepEqual(createHops([SECRET], 'http://10.0.0.2:1').receive(header, 'POST', '/a/mcp?x=1'), {})
  assert.equal(createHops([SECRET.replace('0', '1')], OWNER).receive(header, 'POST', '/a/mcp?x=1'), undefined)
  for (const forged of [
    '',
    '.',
    'true',
    header.split('.')[0]!,
    `${header}x`,
    `x${header}`,
    header.split('.').slice(0, 2).join('.'),
    proof,
  ])
    assert.equal(hops.receive(forged, 'POST', '/a/mcp?x=1'), undefined)
  assert.notEqual(hops.sign(OWNER, 'POST', '/a').proof, hops.sign(OWNER, 'POST', '/a').proof)
})
