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
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  LOG_LEVEL,
  metaOf,
  omit,
  PROTOCOL_VERSION,
  SERVER_INFO,
} from '../../mcp/meta.ts'
import { MAX_QUESTIONS } from '../../mcp/session.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Stateless, StatelessCall } from '../backend/stateless.ts'
import { type Lease, type SessionOwner, SessionPool, type Use } from '../pool/pool.ts'
import { helloOf } from '../pool/session.ts'
import type { ServerRequest } from '../rpc/rpc-client.ts'
import type { Upstream } from '../upstream.ts'
import { listenInSession } from './listen.ts'
import { createParamHeaders } from './param-headers.ts'
import { PendingInput, UNKNOWN_STATE } from './pending-input.ts'

const CACHEABLE = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])
/** Methods that 2026-07-28 does not have (its changelog, 2 to 6). */
const REMOVED = /^(?:initialize|ping|logging\/setLevel|resources\/(?:un)?subscribe|tasks\/(?:list|result))$/
/** Requests during which a client may be asked (Multi Round-Trip Requests, Supported Requests). */
const ASKING = new Set(['tools/call', 'prompts/get', 'resources/read'])
/** Which capability of a client answers which request of a server. */
const NEEDS: Record<string, string> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}
/** `MissingRequiredClientCapabilityError`. */
const MISSING_CAPABILITY = -32021
const TIMED_OUT = { code: -32000, message: 'The client did not answer in time' }

type Sent = Promise<JsonObject | Fault | undefined>

/**
 * Clients of 2026-07-28 in front of a server that speaks only revisions with sessions. What the server asks its
 * client becomes `input_required`; the call waits in the server meanwhile.
 */
export class ToSession implements Stateless {
  readonly pool: SessionPool
  readonly #pendingInput = new PendingInput<BridgedCall>()
  readonly #headers = createParamHeaders()

  constructor(upstream: Upstream) {
    this.pool = new SessionPool(upstream)
  }

  async request(call: StatelessCall): Sent {
    const { id, method, params } = call.message
    if (REMOVED.test(method))
      return errorOf(id, { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` })
    if (method === 'server/discover') return this.#discover(call)
    const owner = ownerOf(call)
    if (method === 'subscriptions/listen') return listenInSession(call, this.pool.lease(owner, 'plain'))
    const { requestState } = params
    if (ASKING.has(method) && requestState !== undefined) return this.#resume(call, String(requestState))
    const lease = this.pool.lease(owner, useOf(method, owner, params))
    const ready = await lease.session.ready
    if (ready instanceof Fault) {
      lease.release()
      return ready
    }
    const level = metaOf(params)[LOG_LEVEL]
    if (level !== undefined && isObject(ready.capabilities) && ready.capabilities.logging)
      await lease.session.request('logging/setLevel', { level }).answer
    const { capabilities } = owner
    const bridged = new BridgedCall(
      lease,
      ready,
      method,
      forSession(params),
      capabilities,
      level !== undefined,
    )
    return this.#follow(call, bridged)
  }

  /** The server's result of `initialize`, in the session that calls of the same client use. */
  async handshake(call: StatelessCall): Promise<JsonObject | Fault> {
    const lease = this.pool.lease(ownerOf(call), 'plain')
    const ready = await lease.session.ready
    lease.release()
    return ready
  }

  versions(): Promise<string[]> {
    return Promise.resolve([...REVISIONS])
  }

  paramHeaders(tool: string, call: StatelessCall) {
    return this.#headers.of(tool, (cursor) => this.#listTools(call, cursor))
  }

  close(): void {
    this.#pendingInput.close()
    this.pool.close()
  }

  /** Waits for the answer, or until the server asks. */
  async #follow(call: StatelessCall, bridged: BridgedCall): Sent {
    const { message, signal } = call
    const cancel = () => bridged.cancel('The client went away')
    if (signal.aborted) cancel()
    signal.addEventListener('abort', cancel)
    const outcome = await bridged.next(call.onMessage)
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
    if (outcome === 'asked') return this.#inputRequired(call, bridged)
    if (outcome instanceof Fault) return outcome
    return { ...this.#answered(outcome, call, bridged.ready), id: message.id }
  }

  #inputRequired(call: StatelessCall, bridged: BridgedCall): JsonObject {
    const requestState = this.#pendingInput.add(bridged, call, () => {
      for (const question of bridged.questions.values())
        bridged.lease.session.respond(question, { error: TIMED_OUT })
      bridged.cancel(TIMED_OUT.message)
    })
    const inputRequests = Object.fromEntries(
      [...bridged.questions].map(([key, { method, params, raw }]) => {
        const given = raw.params !== undefined && { params: omit(params, 'elicitationId') }
        return [key, { method, ...given }]
      }),
    )
    const result = { resultType: 'input_required', inputRequests, requestState }
    return { jsonrpc: '2.0', id: call.message.id, result }
  }

  async #resume(call: StatelessCall, handle: string): Sent {
    const { message } = call
    const bridged = this.#pendingInput.take(handle, call)
    if (!bridged) return errorOf(message.id, UNKNOWN_STATE)
    const given = isObject(message.params.inputResponses) ? message.params.inputResponses : {}
    for (const [key, question] of bridged.questions) {
      const result = Object.hasOwn(given, key) ? given[key] : undefined
      if (!isObject(result)) continue
      bridged.questions.delete(key)
      bridged.lease.session.respond(question, { result: omit(result, 'resultType') })
    }
    // What is missing is asked for again (Error Handling).
    return bridged.questions.size ? this.#inputRequired(call, bridged) : this.#follow(call, bridged)
  }

  async #discover(call: StatelessCall): Promise<JsonObject | Fault> {
    const ready = await this.handshake(call)
    if (ready instanceof Fault) return ready
    const { capabilities, instructions } = ready
    const result = {
      supportedVersions: [...REVISIONS],
      capabilities: isObject(capabilities) ? omit(capabilities, 'tasks') : {},
      ...(typeof instructions === 'string' && { instructions }),
    }
    return { ...this.#answered({ jsonrpc: '2.0', result }, call, ready), id: call.message.id }
  }

  /** A response as 2026-07-28 has it. */
  #answered(raw: JsonObject, { message, ofSession }: StatelessCall, { serverInfo }: JsonObject): JsonObject {
    const { method } = message
    const { result, error } = raw
    // "Resource not found" has another code (changelog of 2026-07-28, minor changes, 6).
    if (isObject(error))
      return error.code === -32002 && !ofSession ? { ...raw, error: { ...error, code: INVALID_PARAMS } } : raw
    if (!isObject(result)) return raw
    if (method === 'tools/list') this.#headers.learn(result)
    return {
      ...raw,
      result: {
        resultType: 'complete',
        // The server says nothing of how long its lists hold.
        ...(CACHEABLE.has(method) && { ttlMs: 0, cacheScope: 'private' }),
        ...result,
        _meta: { ...(serverInfo !== undefined && { [SERVER_INFO]: serverInfo }), ...metaOf(result) },
      },
    }
  }

  async #listTools(call: StatelessCall, cursor: string | undefined): Promise<Json | undefined> {
    const lease = this.pool.lease(ownerOf(call), 'plain')
    const ready = await lease.session.ready
    const raw =
      ready instanceof Fault
        ? ready
        : await lease.session.request('tools/list', cursor ? { cursor } : {}).answer
    lease.release()
    return 'result' in raw ? (raw.result as Json) : undefined
  }
}

/** A call that is under way in the server, over all the requests of the client that it takes. */
class BridgedCall {
  /** Requests of the server that the client has not answered. */
  readonly questions = new Map<string, ServerRequest>()
  /** A capability that the server wanted and the client did not declare. */
  missing: string | undefined
  readonly #answer: Promise<JsonObject | Fault>
  readonly #cancel: (reason: string) => void
  readonly #asked = memory.queue()
  #count = 0
  /** Where messages go, while a request of the client is open. */
  #onMessage: ((raw: JsonObject) => void) | undefined
  #onAsked: (() => void) | undefined

  constructor(
    readonly lease: Lease,
    readonly ready: JsonObject,
    method: string,
    params: JsonObject,
    private readonly capabilities: JsonObject,
    logs: boolean,
  ) {
    const { answer, cancel } = lease.session.request(method, params, {
      logs,
      onMessage: (raw) => this.#onMessage?.(raw),
      ...(ASKING.has(method) && { onRequest: (question: ServerRequest) => this.#ask(question) }),
    })
    this.#answer = answer
    this.#cancel = cancel
    const over = () => {
      this.#asked.free()
      lease.release()
    }
    answer.finally(over).catch(unexpected(method))
  }

  /** The answer, or that the server has asked something. */
  async next(onMessage: (raw: JsonObject) => void): Promise<JsonObject | Fault | 'asked'> {
    this.#onMessage = onMessage
    const asked = new Promise<'asked'>((resolve) => {
      // Several questions at once are one round for the client.
      this.#onAsked = () => setImmediate(resolve, 'asked')
      if (this.questions.size || this.missing) this.#onAsked()
    })
    const outcome = await Promise.race([this.#answer, asked])
    this.#onMessage = undefined
    this.#onAsked = undefined
    return outcome
  }

  cancel(reason: string): void {
    this.#cancel(reason)
    this.lease.release()
  }

  #ask(question: ServerRequest): void {
    const { method, raw } = question
    const needs = Object.hasOwn(NEEDS, method) ? NEEDS[method] : undefined
    const full = this.questions.size >= MAX_QUESTIONS || !this.#asked.add(stringify(raw).length)
    if (needs && this.capabilities[needs] && !full)
      this.questions.set(`${method.split('/')[0]}-${++this.#count}`, question)
    else {
      const error = { code: METHOD_NOT_FOUND, message: 'The client cannot do that' }
      this.lease.session.respond(question, { error })
      if (!needs || full) return
      this.missing = needs
    }
    this.#onAsked?.()
  }
}

/** For whom a call's session is. */
function ownerOf({ message, resolved, caller, sharer, peer }: StatelessCall): SessionOwner {
  return { resolved, caller, sharer, peer, ...helloOf(message.params) }
}

/** How a request uses its session. */
function useOf(method: string, { capabilities }: SessionOwner, params: JsonObject): Use {
  if (/\/list$|^completion\//.test(method)) return 'plain'
  if (metaOf(params)[LOG_LEVEL] !== undefined) return 'alone'
  const asks = ASKING.has(method) && Object.values(NEEDS).some((needs) => capabilities[needs])
  return asks ? 'alone' : 'open'
}

/** Parameters without what only 2026-07-28 has. */
function forSession(params: JsonObject): JsonObject {
  const meta = omit(metaOf(params), PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL)
  const rest = omit(params, '_meta', 'inputResponses', 'requestState')
  return Object.keys(meta).length ? { ...rest, _meta: meta } : rest
}

function errorOf(id: StatelessCall['message']['id'], error: RpcError): JsonObject {
  return { jsonrpc: '2.0', id, error: { ...error } as JsonObject }
}
