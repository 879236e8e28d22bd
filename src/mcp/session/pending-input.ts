import { createHash, randomBytes } from 'node:crypto'
import { type Json, stringify } from '../../json/index.ts'
import { INVALID_PARAMS, omit, type Request, withSortedKeys } from '../protocol.ts'

/** Milliseconds in which a user may answer. */
export const ANSWER_TIME = 300_000
/** Maximum waiting entries; beyond, the oldest entry of the largest user is dropped. */
const MAX_WAITING = 10_000

interface Waiting<Value> {
  value: Value
  bound: string
  quotaKey: string
  expire(): void
  timer: NodeJS.Timeout
}

/** Requests that wait for client input, each under a handle valid for one retry of the same request. */
export class PendingInput<Value> {
  readonly #waiting = new Map<string, Waiting<Value>>()
  /** Handles by quota key, oldest first. */
  readonly #shares = new Map<string, Set<string>>()

  /** @param life milliseconds for which each waits */
  constructor(
    private readonly life = ANSWER_TIME,
    private readonly most = MAX_WAITING,
  ) {}

  /**
   * Stores a value.
   * @param bound digest of the request; must be equal to take the value out
   * @param quotaKey of the value
   * @param onExpired called if the value is not taken in time
   * @returns an unguessable handle
   */
  add(value: Value, bound: string, quotaKey: string, onExpired: () => void): string {
    const handle = randomBytes(32).toString('base64url')
    const expire = () => {
      if (this.#remove(handle)) onExpired()
    }
    const timer = setTimeout(expire, this.life).unref()
    this.#waiting.set(handle, { value, bound, quotaKey, expire, timer })
    const own = this.#shares.get(quotaKey)
    if (own) own.add(handle)
    else this.#shares.set(quotaKey, new Set([handle]))
    if (this.#waiting.size > this.most) this.#makeRoom()
    return handle
  }

  /** Drops the oldest entry of the largest user, so that no client displaces the entries of others. */
  #makeRoom(): void {
    let largest = new Set<string>()
    for (const share of this.#shares.values()) if (share.size > largest.size) largest = share
    const [oldest = ''] = largest
    this.expire(oldest)
  }

  #remove(handle: string): boolean {
    const found = this.#waiting.get(handle)
    if (!found) return false
    this.#waiting.delete(handle)
    clearTimeout(found.timer)
    const own = this.#shares.get(found.quotaKey)
    own?.delete(handle)
    if (!own?.size) this.#shares.delete(found.quotaKey)
    return true
  }

  /** The entries of a quota key. */
  count(quotaKey: string): number {
    return this.#shares.get(quotaKey)?.size ?? 0
  }

  /** Expires an entry early. */
  expire(handle: string): void {
    this.#waiting.get(handle)?.expire()
  }

  /** Takes a value out, if the request is the same. */
  take(handle: string, bound: string): Value | undefined {
    const found = this.#waiting.get(handle)
    if (found?.bound !== bound) return undefined
    this.#remove(handle)
    return found.value
  }

  /** Expires all entries. */
  close(): void {
    for (const { expire } of [...this.#waiting.values()]) expire()
  }
}

/** A stateless call that waits for a person's approval, or for the client's answer after it. */
export interface ParkedCall {
  /** Whether a person has approved it, and the server now asks for more input. */
  approved: boolean
  /** The server's `requestState`. */
  inner?: Json | undefined
}

/** A digest of a request without the members that differ between retries (2026-07-28, Server Requirements). */
export function digestOfRequest({ method, params }: Request, more: readonly Json[]): string {
  const own = withSortedKeys(omit(params, '_meta', 'inputResponses', 'requestState'))
  return createHash('sha256')
    .update(stringify([...more, method, own]))
    .digest('base64url')
}

/** The error for an unknown or expired `requestState`. */
export const UNKNOWN_STATE = {
  code: INVALID_PARAMS,
  message: 'requestState was used, has expired, or belongs to another request: call again without it',
}
