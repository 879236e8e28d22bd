import { memory } from '../../access/memory.ts'
import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import {
  Fault,
  INVALID_PARAMS,
  isObject,
  METHOD_NOT_FOUND,
  REVISIONS,
  type RpcError,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Stateless, StatelessCall } from '../backend/stateless.ts'
import { ASKING, ASKS, capabilitiesOf, partyOf, useOf } from '../pool/caller.ts'
import { createSeats, type Held, type Seats } from '../pool/pool.ts'
import type { Ask } from '../pool/session.ts'
import type { Upstream } from '../upstream.ts'
import { listenInSession } from './listen.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  LOG_LEVEL,
  metaOf,
  omit,
  PROTOCOL_VERSION,
  SERVER_INFO,
} from './meta.ts'
import { createParamHeaders } from './param-headers.ts'
import { createPark } from './pending-input.ts'
import { MAX_QUESTIONS } from './questions.ts'
import { UNKNOWN_STATE } from './states.ts'

/**
 * Clients of 2026-07-28 in front of a server that speaks only revisions with sessions. What the server asks its
 * client becomes `input_required`; the call waits in the server meanwhile.
 */
export interface ToSession extends Stateless {
  seats: Seats
  /** The server's result of `initialize`, in the session that calls of the same client use. */
  handshake(call: StatelessCall): Promise<JsonObject | Fault>
  close(): void
}

const CACHEABLE = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])
/** Methods that 2026-07-28 does not have (its changelog, 2 to 6). */
const REMOVED = /^(?:initialize|ping|logging\/setLevel|resources\/(?:un)?subscribe|tasks\/(?:list|result))$/
/** `MissingRequiredClientCapabilityError`. */
const MISSING_CAPABILITY = -32021
/** A call that is under way in the server, over all the requests of the client that it takes. */
interface Bridged {
  held: Held
  /** Asked and not answered. */
  asks: Map<string, Ask>
  answer: Promise<JsonObject | Fault>
  cancel(reason: string): void
  /** Where messages go, while a request of the client is open. */
  onMessage: ((raw: JsonObject) => void) | undefined
  onAsk: (() => void) | undefined
  /** A capability that the server wanted and the client did not declare. */
  missing: string | undefined
}

export function createToSession(upstream: Upstream): ToSession {
  const seats = createSeats(upstream)
  const park = createPark<Bridged>()
  const headers = createParamHeaders()

  async function request(call: StatelessCall): Promise<JsonObject | Fault | undefined> {
    const { message } = call
    const { id, method, params } = message
    if (REMOVED.test(method))
      return errorOf(id, { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` })
    if (method === 'server/discover') return discover(call)
    const party = partyOf(call)
    if (method === 'subscriptions/listen') return listenInSession(call, seats.hold(party, 'plain'))
    const { requestState } = params
    if (ASKING.has(method) && requestState !== undefined) return resume(call, String(requestState))
    const use = useOf(method, party, params)
    const held = seats.hold(party, use)
    const ready = await held.seat.ready
    if (ready instanceof Fault) return released(held, ready)
    const level = metaOf(params)[LOG_LEVEL]
    if (level !== undefined && isObject(ready.capabilities) && ready.capabilities.logging)
      await held.seat.request('logging/setLevel', { level }).answer
    return begin(call, held, level !== undefined, ready)
  }

  function begin(call: StatelessCall, held: Held, logs: boolean, ready: JsonObject) {
    const { method, params } = call.message
    // A call that is parked must not keep its request.
    const capabilities = capabilitiesOf(call)
    let count = 0
    const asked = memory.queue()
    const bridged: Bridged = {
      held,
      asks: new Map(),
      answer: Promise.resolve({}),
      cancel: () => {},
      onMessage: undefined,
      onAsk: undefined,
      missing: undefined,
    }
    const sent = held.seat.request(method, forSession(params), {
      logs,
      onMessage: (raw) => bridged.onMessage?.(raw),
      ...(ASKING.has(method) && {
        onAsk(ask: Ask) {
          const needs = Object.hasOwn(ASKS, ask.method) ? ASKS[ask.method] : undefined
          const full = bridged.asks.size >= MAX_QUESTIONS || !asked.add(stringify(ask.raw).length)
          if (needs && capabilities[needs] && !full)
            bridged.asks.set(`${ask.method.split('/')[0]}-${++count}`, ask)
          else {
            held.seat.respond(ask, {
              error: { code: METHOD_NOT_FOUND, message: 'The client cannot do that' },
            })
            if (!needs || full) return
            bridged.missing = needs
          }
          bridged.onAsk?.()
        },
      }),
    })
    bridged.answer = sent.answer
    bridged.cancel = sent.cancel
    const over = () => {
      asked.free()
      held.release()
    }
    sent.answer.finally(over).catch(unexpected(method))
    return follow(call, bridged, ready)
  }

  /** Waits for the answer, or until the server asks. */
  async function follow(call: StatelessCall, bridged: Bridged, ready: JsonObject) {
    const { message, signal } = call
    bridged.onMessage = call.onMessage
    const cancel = () => {
      bridged.cancel('The client went away')
      bridged.held.release()
    }
    if (signal.aborted) cancel()
    signal.addEventListener('abort', cancel)
    const asked = new Promise<'asked'>((resolve) => {
      // Several questions at once are one round for the client.
      bridged.onAsk = () => setImmediate(resolve, 'asked')
      if (bridged.asks.size || bridged.missing) bridged.onAsk()
    })
    const outcome = await Promise.race([bridged.answer, asked])
    bridged.onMessage = undefined
    bridged.onAsk = undefined
    signal.removeEventListener('abort', cancel)
    if (signal.aborted) return undefined
    if (bridged.missing) {
      bridged.cancel('The client cannot answer')
      return errorOf(message.id, {
        code: MISSING_CAPABILITY,
        message: `The server asks for the client capability ${bridged.missing}`,
        data: { requiredCapabilities: { [bridged.missing]: {} } },
      })
    }
    if (outcome === 'asked') return inputRequired(call, bridged)
    if (outcome instanceof Fault) return outcome as Fault
    return { ...answered(outcome, call, ready), id: message.id }
  }

  function inputRequired(call: StatelessCall, bridged: Bridged): JsonObject {
    const requestState = park.put(bridged, call, () => {
      for (const ask of bridged.asks.values())
        bridged.held.seat.respond(ask, {
          error: { code: -32000, message: 'The client did not answer in time' },
        })
      bridged.cancel('The client did not answer in time')
      bridged.held.release()
    })
    const inputRequests = Object.fromEntries(
      [...bridged.asks].map(([key, { method, params, raw }]) => {
        const { params: given } = raw
        return [key, { method, ...(given !== undefined && { params: omit(params, 'elicitationId') }) }]
      }),
    )
    const result = { resultType: 'input_required', inputRequests, requestState }
    return { jsonrpc: '2.0', id: call.message.id as Json, result }
  }

  async function resume(call: StatelessCall, handle: string): Promise<JsonObject | Fault | undefined> {
    const { message } = call
    const bridged = park.take(handle, call)
    if (!bridged) return errorOf(message.id, UNKNOWN_STATE)
    const given = isObject(message.params.inputResponses) ? message.params.inputResponses : {}
    for (const [key, ask] of bridged.asks) {
      const result = Object.hasOwn(given, key) ? given[key] : undefined
      if (!isObject(result)) continue
      bridged.asks.delete(key)
      bridged.held.seat.respond(ask, { result: omit(result, 'resultType') })
    }
    // What is missing is asked for again (Error Handling).
    if (bridged.asks.size) return inputRequired(call, bridged)
    const ready = await bridged.held.seat.ready
    return ready instanceof Fault ? ready : follow(call, bridged, ready)
  }

  async function handshake(call: StatelessCall): Promise<JsonObject | Fault> {
    const held = seats.hold(partyOf(call), 'plain')
    const ready = await held.seat.ready
    held.release()
    return ready
  }

  async function discover(call: StatelessCall): Promise<JsonObject | Fault> {
    const ready = await handshake(call)
    if (ready instanceof Fault) return ready
    const { capabilities, instructions } = ready
    const result = {
      supportedVersions: [...REVISIONS],
      capabilities: isObject(capabilities) ? omit(capabilities, 'tasks') : {},
      ...(typeof instructions === 'string' && { instructions }),
    }
    return { ...answered({ jsonrpc: '2.0', result }, call, ready), id: call.message.id as Json }
  }

  function answered(raw: JsonObject, { message, ofSession }: StatelessCall, { serverInfo }: JsonObject) {
    const { method } = message
    const { result, error } = raw
    // "Resource not found" has another code (changelog of 2026-07-28, minor changes, 6).
    if (isObject(error))
      return error.code === -32002 && !ofSession ? { ...raw, error: { ...error, code: INVALID_PARAMS } } : raw
    if (!isObject(result)) return raw
    if (method === 'tools/list') headers.learn(result)
    const cacheable = CACHEABLE.has(method) || method === 'server/discover'
    return {
      ...raw,
      result: {
        resultType: 'complete',
        // The server says nothing of how long its lists hold.
        ...(cacheable && { ttlMs: 0, cacheScope: 'private' }),
        ...result,
        _meta: { ...(serverInfo !== undefined && { [SERVER_INFO]: serverInfo }), ...metaOf(result) },
      },
    }
  }

  function list(call: StatelessCall) {
    return async (cursor: string | undefined): Promise<Json | undefined> => {
      const held = seats.hold(partyOf(call), 'plain')
      const ready = await held.seat.ready
      const raw =
        ready instanceof Fault
          ? ready
          : await held.seat.request('tools/list', cursor ? { cursor } : {}).answer
      held.release()
      return 'result' in raw ? (raw.result as Json) : undefined
    }
  }

  return {
    seats,
    handshake,
    request,
    versions: () => Promise.resolve([...REVISIONS]),
    paramHeaders: (tool, call) => headers.of(tool, list(call)),
    close() {
      park.close()
      seats.close()
    },
  }
}

/** Parameters without what only 2026-07-28 has. */
function forSession(params: JsonObject): JsonObject {
  const meta = omit(metaOf(params), PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL)
  const rest = omit(params, '_meta', 'inputResponses', 'requestState')
  return Object.keys(meta).length ? { ...rest, _meta: meta } : rest
}

function released(held: Held, fault: Fault): Fault {
  held.release()
  return fault
}

function errorOf(id: StatelessCall['message']['id'], error: RpcError): JsonObject {
  return { jsonrpc: '2.0', id: id as Json, error: { ...error } as JsonObject }
}
