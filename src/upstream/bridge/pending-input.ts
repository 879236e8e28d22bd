import { createHash, randomBytes } from 'node:crypto'
import { stringify } from '../../json/index.ts'
import type { StatelessCall } from '../backend/stateless.ts'
import { canonical, omit } from './meta.ts'

/** Calls that wait for the client's input, each under a handle that is good for one retry of the same request. */
export interface Park<Call> {
  /** Puts a call aside; `onExpired` runs when nobody came for it. */
  put(call: Call, request: StatelessCall, onExpired: () => void): string
  /** Takes a call out: only the same caller with the same request gets it. */
  take(handle: string, request: StatelessCall): Call | undefined
  /** Expires all. */
  close(): void
}

/** Milliseconds that a user has to answer. */
const LIFE = 300_000
/** Calls that wait at the most; the oldest gives way. */
const MAX_PARKED = 10_000

export function createPark<Call>(life = LIFE): Park<Call> {
  const parked = new Map<string, { call: Call; bound: string; expire: () => void; timer: NodeJS.Timeout }>()
  return {
    put(call, request, onExpired) {
      const handle = randomBytes(32).toString('base64url')
      const expire = () => {
        if (parked.delete(handle)) onExpired()
      }
      parked.set(handle, { call, bound: boundTo(request), expire, timer: setTimeout(expire, life).unref() })
      if (parked.size > MAX_PARKED) parked.values().next().value?.expire()
      return handle
    },
    take(handle, request) {
      const found = parked.get(handle)
      if (found?.bound !== boundTo(request)) return undefined
      parked.delete(handle)
      clearTimeout(found.timer)
      return found.call
    },
    close() {
      for (const { expire, timer } of [...parked.values()]) {
        clearTimeout(timer)
        expire()
      }
    },
  }
}

/** Caller, values of templates, method and parameters, as one digest (2026-07-28, Server Requirements). */
function boundTo({ message, caller, resolved }: StatelessCall): string {
  const params = canonical(omit(message.params, '_meta', 'inputResponses', 'requestState'))
  const text = stringify([caller ?? null, resolved.key, message.method, params])
  return createHash('sha256').update(text).digest('base64url')
}
