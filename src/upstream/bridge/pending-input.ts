import { createHash, randomBytes } from 'node:crypto'
import { type JsonObject, stringify } from '../../json/index.ts'
import {
  type Exchange,
  errorText,
  INVALID_PARAMS,
  isObject,
  json,
  type Replicas,
  type RequestId,
} from '../../mcp/index.ts'
import { canonical, omit } from '../../mcp/protocol.ts'
import type { Stateless, StatelessCall } from '../backend/stateless.ts'
import type { Request } from '../rpc/link.ts'

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

  /** Gives up a call before its time. */
  expire(handle: string): void {
    const found = this.#waiting.get(handle)
    clearTimeout(found?.timer)
    found?.expire()
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

/** What a client is told whose call nobody holds any more. */
export const UNKNOWN_STATE = {
  code: INVALID_PARAMS,
  message: 'requestState is unknown, used up, expired or of another request: call again without it',
}

/**
 * Calls that wait for input wait in one replica, so `requestState` names it. Gives the request as the server is to
 * have it, or the answer of the replica that has the call.
 * @param text the request as it came
 */
export async function resumed(
  exchange: Exchange,
  replicas: Replicas,
  request: Request,
  text: string,
): Promise<Request | Response> {
  const { requestState } = request.params
  if (requestState === undefined) return request
  const waiting = replicas.unseal(String(requestState))
  if (!waiting) return unknown(exchange, request.id)
  const { owner, state } = waiting
  if (!replicas.isOwn(owner))
    return (await replicas.forward(owner, text, request.id)) ?? unknown(exchange, request.id)
  const params = { ...request.params, requestState: state }
  return { ...request, params, raw: { ...request.raw, params } }
}

function unknown(exchange: Exchange, id: RequestId): Response {
  return json(exchange, errorText(id, UNKNOWN_STATE))
}

/** The same server, whose calls that wait are found again from every replica. */
export function withStates(server: Stateless, replicas: Replicas): Stateless {
  return {
    versions: (resolved) => server.versions(resolved),
    paramHeaders: (tool, call) => server.paramHeaders(tool, call),
    async request(call) {
      const raw = await server.request(call)
      if (!raw || !('result' in raw) || !isObject(raw.result)) return raw
      const { resultType, requestState } = raw.result
      if (resultType !== 'input_required' || typeof requestState !== 'string') return raw
      const result: JsonObject = { ...raw.result, requestState: replicas.seal(requestState) }
      return { ...raw, result }
    },
  }
}
