import { createHash, randomBytes } from 'node:crypto'
import { type Json, stringify } from '../json/index.ts'
import { canonical, INVALID_PARAMS, omit, type Request } from './protocol.ts'

/** Milliseconds that a user has to answer. */
export const ANSWER_TIME = 300_000
/** What may wait; then the oldest gives way of whoever has most. */
const MAX_WAITING = 10_000

interface Waiting<Value> {
  value: Value
  bound: string
  sharer: string
  expire(): void
  timer: NodeJS.Timeout
}

/** What waits for the client's input, each under a handle that is good for one retry of the same request. */
export class PendingInput<Value> {
  readonly #waiting = new Map<string, Waiting<Value>>()
  /** Handles of each sharer, the oldest first. */
  readonly #shares = new Map<string, Set<string>>()

  /** @param life milliseconds for which each waits */
  constructor(
    private readonly life = ANSWER_TIME,
    private readonly most = MAX_WAITING,
  ) {}

  /**
   * Puts something aside.
   * @param bound what must be the same to take it out: a digest of the request
   * @param sharer whose share of the room it takes
   * @param onExpired runs when nobody came for it
   * @returns the handle, which nobody can guess
   */
  add(value: Value, bound: string, sharer: string, onExpired: () => void): string {
    const handle = randomBytes(32).toString('base64url')
    const expire = () => {
      if (this.#remove(handle)) onExpired()
    }
    const timer = setTimeout(expire, this.life).unref()
    this.#waiting.set(handle, { value, bound, sharer, expire, timer })
    const own = this.#shares.get(sharer)
    if (own) own.add(handle)
    else this.#shares.set(sharer, new Set([handle]))
    if (this.#waiting.size > this.most) this.#makeRoom()
    return handle
  }

  /** Nobody can crowd out what others wait for. */
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
    const own = this.#shares.get(found.sharer)
    own?.delete(handle)
    if (!own?.size) this.#shares.delete(found.sharer)
    return true
  }

  /** Gives up what waits before its time. */
  expire(handle: string): void {
    this.#waiting.get(handle)?.expire()
  }

  /** Takes something out: only the same request gets it. */
  take(handle: string, bound: string): Value | undefined {
    const found = this.#waiting.get(handle)
    if (found?.bound !== bound) return undefined
    this.#remove(handle)
    return found.value
  }

  /** Expires all. */
  close(): void {
    for (const { expire } of [...this.#waiting.values()]) expire()
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
