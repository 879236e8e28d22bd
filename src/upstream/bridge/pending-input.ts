import { createHash, randomBytes } from 'node:crypto'
import { stringify } from '../../json/index.ts'
import { canonical, omit } from '../../mcp/meta.ts'
import type { StatelessCall } from '../backend/stateless.ts'

/** Milliseconds that a user has to answer. */
const LIFE = 300_000
/** Calls that may wait; the oldest gives way. */
const MAX_WAITING = 10_000

interface Waiting<Call> {
  call: Call
  bound: string
  expire(): void
  timer: NodeJS.Timeout
}

/** Calls that wait for the client's input, each under a handle that is good for one retry of the same request. */
export class PendingInput<Call> {
  readonly #waiting = new Map<string, Waiting<Call>>()

  /**
   * Puts a call aside.
   * @param onExpired runs when nobody came for it
   * @returns the handle
   */
  add(call: Call, request: StatelessCall, onExpired: () => void): string {
    const handle = randomBytes(32).toString('base64url')
    const expire = () => {
      if (this.#waiting.delete(handle)) onExpired()
    }
    const timer = setTimeout(expire, LIFE).unref()
    this.#waiting.set(handle, { call, bound: boundTo(request), expire, timer })
    if (this.#waiting.size > MAX_WAITING) this.#waiting.values().next().value?.expire()
    return handle
  }

  /** Takes a call out: only the same caller with the same request gets it. */
  take(handle: string, request: StatelessCall): Call | undefined {
    const found = this.#waiting.get(handle)
    if (found?.bound !== boundTo(request)) return undefined
    this.#waiting.delete(handle)
    clearTimeout(found.timer)
    return found.call
  }

  /** Expires all. */
  close(): void {
    for (const { expire, timer } of [...this.#waiting.values()]) {
      clearTimeout(timer)
      expire()
    }
  }
}

/** Caller, values of templates, method and parameters, as one digest (2026-07-28, Server Requirements). */
function boundTo({ message, caller, resolved }: StatelessCall): string {
  const params = canonical(omit(message.params, '_meta', 'inputResponses', 'requestState'))
  const text = stringify([caller ?? null, resolved.key, message.method, params])
  return createHash('sha256').update(text).digest('base64url')
}
