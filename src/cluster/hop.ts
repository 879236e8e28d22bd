import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { keyOf } from './seal.ts'

/** Marks a request from a replica, so that it is not forwarded again. */
export const HOP_HEADER = 'plantgw-hop'
/** Proves that the response comes from a replica, not from another machine at its address. */
export const PROOF_HEADER = 'plantgw-hop-proof'
/** The client's connection, set by a forwarding worker; trusted from workers only. */
export const CLIENT_HEADER = 'plantgw-hop-outer'

/**
 * How replicas authenticate to each other. A signature only keeps a request from being forwarded again; so a
 * replayed one does no harm, and clocks need not agree.
 */
export interface Hops {
  /** The header of a request to another replica, and the proof that its answer must carry. */
  sign(method: string, target: string): { header: string; proof: string }
  /** The proof for the answer; undefined: the header is not from a replica. */
  receive(header: string, method: string, target: string): string | undefined
}

/** @param secrets the first one signs, all of them are accepted */
export function createHops(secrets: readonly string[]): Hops {
  const all = secrets.map((secret) => ({ request: keyOf(secret, 'hop'), answer: keyOf(secret, 'hop proof') }))
  const [keys] = all as [(typeof all)[0]]
  const mac = (key: Buffer, ...parts: string[]) =>
    createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
  return {
    sign(method, target) {
      const nonce = randomBytes(16).toString('base64url')
      return {
        header: `${nonce}.${mac(keys.request, nonce, method, target)}`,
        proof: mac(keys.answer, nonce),
      }
    },
    receive(header, method, target) {
      const [nonce = '', given = ''] = header.split('.')
      const own = all.find(({ request }) => same(given, mac(request, nonce, method, target)))
      return own && mac(own.answer, nonce)
    },
  }
}

/** Compares in constant time. */
export function same(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
