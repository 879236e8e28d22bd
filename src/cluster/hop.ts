import { createHmac, randomBytes } from 'node:crypto'
import { isSameSecret } from '../text/index.ts'
import { keyOf } from './seal.ts'

/** Marks a request from a replica, so that it is not forwarded again. */
export const HOP_HEADER = 'plantgw-hop'
/** Proves that the response comes from a replica, not from another machine at its address. */
export const PROOF_HEADER = 'plantgw-hop-proof'
/** The client's connection, set by a forwarding worker; trusted from workers only. */
export const CLIENT_HEADER = 'plantgw-hop-outer'

/**
 * How replicas authenticate to each other. Requests of replicas skip limits that the forwarding replica has applied; so
 * a signature holds for one replica only, and a machine that takes over an address cannot use what it receives there.
 */
export interface Hops {
  /** The header of a request to another replica, and the proof that its answer must carry. */
  sign(owner: string, method: string, target: string): { header: string; proof: string }
  /** `proof`: for the answer, absent if the header is for another replica; undefined: it is not from a replica. */
  receive(header: string, method: string, target: string): { proof?: string } | undefined
}

/**
 * @param secrets the first one signs, all of them are accepted
 * @param address where the other replicas reach this one
 */
export function createHops(secrets: readonly string[], address: string): Hops {
  const all = secrets.map((secret) => ({ request: keyOf(secret, 'hop'), answer: keyOf(secret, 'hop proof') }))
  const [keys] = all as [(typeof all)[0]]
  const mac = (key: Buffer, ...parts: string[]) =>
    createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
  const addressed = textOf(address)
  return {
    sign(to, method, target) {
      const owner = textOf(to)
      const nonce = randomBytes(16).toString('base64url')
      return {
        header: `${nonce}.${mac(keys.request, nonce, owner, method, target)}.${owner}`,
        proof: mac(keys.answer, nonce),
      }
    },
    receive(header, method, target) {
      const [nonce = '', given = '', owner = ''] = header.split('.')
      const own = all.find(({ request }) => isSameSecret(given, mac(request, nonce, owner, method, target)))
      return own && (owner === addressed ? { proof: mac(own.answer, nonce) } : {})
    },
  }
}

/** An address in a header, whose parts dots divide. */
function textOf(address: string): string {
  return Buffer.from(address).toString('base64url')
}
