import { createHash, randomBytes } from 'node:crypto'
import { type Json, stringify } from '../json/index.ts'
import { canonical, INVALID_PARAMS, omit, type Request } from './protocol.ts'

/** Milliseconds that a user has to answer. */
export const ANSWER_TIME = 300_000
/** What may wait; the oldest gives way. */
const MAX_WAITING = 10_000

interface Waiting<Value> {
  value: Value
  bound: string
  expire(): void
  timer: NodeJS.Timeout
}

/** What waits for the client's input, each under a handle that is good for one retry of the same request. */
export class PendingInput<Value> {
  readonly #waiting = new Map<string, Waiting<Value>>()

  /** @param life milliseconds for which each waits */
  constructor(private readonly life = ANSWER_TIME) {}

  /**
   * Puts something aside.
   * @param bound what must be the same to take it out: a digest of the request
   * @param onExpired runs when nobody came for it
   * @returns the handle, which nobody can guess
   */
  add(value: Value, bound: string, onExpired: () => void): string {
    const handle = randomBytes(32).toString('base64url')
    const expire = () => {
      if (this.#waiting.delete(handle)) onExpired()
    }
    const timer = setTimeout(expire, this.life).unref()
    this.#waiting.set(handle, { value, bound, expire, timer })
    if (this.#waiting.size > MAX_WAITING) this.#waiting.values().next().value?.expire()
    return handle
  }

  /** Gives up what waits before its time. */
  expire(handle: string): void {
    const found = this.#waiting.get(handle)
    clearTimeout(found?.timer)
    found?.expire()
  }

  /** Takes something out: only the same request gets it. */
  take(handle: string, bound: string): Value | undefined {
    const found = this.#waiting.get(handle)
    if (found?.bound !== bound) return undefined
    this.#waiting.delete(handle)
    clearTimeout(found.timer)
    return found.value
  }

  /** Expires all. */
  close(): void {
    for (const { expire, timer } of [...this.#waiting.values()]) {
      clearTimeout(timer)
      expire()
    }
  }
}

/** A digest of a request without what differs between its retries (2026-07-28, Server Requirements). */
export function digestOfRequest({ method, params }: Request, more: readonly Json[]): string {
  const own = canonical(omit(params, '_meta', 'inputResponses', 'requestState'))
  return createHash('sha256')
    .update(stringify([...more, method, own]))
    .digest('base64url')
}

/** What a client is told whose call nobody holds any more. */
export const UNKNOWN_STATE = {
  code: INVALID_PARAMS,
  message: 'requestState is unknown, used up, expired or of another request: call again without it',
}
