import type { Json, JsonObject } from '../../json/index.ts'
import {
  ACKNOWLEDGED,
  CACHEABLE,
  digestOfRequest,
  errorResponse,
  Fault,
  HEADER_MISMATCH,
  INVALID_PARAMS,
  isObject,
  LIST_KINDS,
  LISTEN,
  METHOD_NOT_FOUND,
  missingCapability,
  PendingInput,
  SUBSCRIPTION_ID,
  UNKNOWN_STATE,
} from '../../mcp/index.ts'
import { createParamHeaders } from '../../mcp/middleware/mirror.ts'
import { LOG_LEVEL, metaOf, omit, SERVER_INFO, SUPPORTED_VERSIONS } from '../../mcp/protocol.ts'
import type { Logger } from '../../telemetry/log.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { faultOfName, SESSION_NAME, type SessionOwner, SessionPool } from '../pool/pool.ts'
import { helloOf, type PooledSession } from '../pool/session.ts'
import { GIVES_WAY } from '../rpc/session-lock.ts'
import { type StatelessUpstream, type UpstreamCall, whoseCall } from '../rpc/stateless-upstream.ts'
import { isRepeatable, MAX_SUBSCRIPTIONS } from '../rpc/upstream-session.ts'
import { endOf } from '../sent-requests.ts'
import type { Upstream } from '../upstream.ts'
import { ASKING, BridgedCall, lockModeOf } from './bridged-call.ts'

/** Methods removed in 2026-07-28 (its changelog, 2 to 6). */
const REMOVED = /^(?:initialize|ping|logging\/setLevel|resources\/(?:un)?subscribe|tasks\/(?:list|result))$/
type Sent = Promise<JsonObject | Fault | undefined>

/** Status of a server that does not know the session. */
const FORGOTTEN = 404
/** Maximum sessions that one call tries, if each is lost while it waits. */
const MAX_SESSIONS = 3

/**
 * Serves clients of 2026-07-28 from a session-based server. Server requests become `input_required`, while the call
 * waits in the server.
 */
export class ToSession implements StatelessUpstream {
  readonly pool: SessionPool
  readonly #pendingInput = new PendingInput<BridgedCall>()
  readonly #headers = createParamHeaders()
  /** Milliseconds that a call waits for its turn in a session, again after each call that ended. */
  readonly #lockTimeout: number
  /** Whether a session has a single caller. */
  readonly #isolated: boolean

  constructor(
    private readonly upstream: Upstream,
    private readonly log: Logger,
  ) {
    this.pool = new SessionPool(upstream, log)
    // By then the previous call has timed out or given up its turn.
    this.#lockTimeout = upstream.limits.timeout + GIVES_WAY
    this.#isolated = upstream.definition.server.isolation === 'session'
  }

  async request(call: UpstreamCall): Sent {
    const { id, method, params } = call.message
    if (REMOVED.test(method))
      return errorResponse(id, { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` })
    const fault = faultOfName(call)
    if (fault !== undefined) return errorResponse(id, { code: HEADER_MISMATCH, message: fault })
    if (method === 'server/discover') return this.#discover(call)
    if (method === LISTEN) {
      const session = this.pool.session(ownerOf(call), true)
      return session.use(async (ready) => {
        // Otherwise a change after the acknowledgement could be missed.
        await session.listening
        return listenInSession(call, session, ready)
      })
    }
    const { requestState } = params
    if (ASKING.has(method) && requestState !== undefined) return this.#resume(call, String(requestState))
    for (let tried = 1; ; tried++) {
      const bridged = this.#bridge(call)
      const answer = await bridged.session.use((ready) => this.#begin(call, bridged, ready))
      // The login has ended at the server or on another replica.
      if (answer instanceof Fault && answer.login) bridged.session.close()
      if (!(answer instanceof Fault) || answer.kind !== 'lost' || tried === MAX_SESSIONS) return answer
      // Repeat a sent call only if just the session was lost, and the call was not executed or is read-only.
      const again = answer.status === FORGOTTEN && (answer.isUnexecuted || isRepeatable(method))
      if (bridged.state !== 'waiting' && !again) return answer
    }
  }

  /** The server's `initialize` result, in the session shared with the client's calls. */
  handshake(call: UpstreamCall): Promise<JsonObject | Fault> {
    return this.pool.session(ownerOf(call), true).use((ready) => ready)
  }

  paramHeaders(tool: string, call: UpstreamCall) {
    return this.#headers.of(tool, (params) => this.#listTools(call, params))
  }

  abandon(requestState: string): void {
    this.#pendingInput.expire(requestState)
  }

  close(): void {
    this.#pendingInput.close()
    this.pool.close()
  }

  #bridge(call: UpstreamCall): BridgedCall {
    const mode = lockModeOf(call.message)
    const session = this.pool.session(ownerOf(call), mode === 'metadata')
    const caller = this.#isolated ? '' : whoseCall(call)
    return new BridgedCall(session, caller, mode, call, () =>
      this.log.warn(
        { server: this.upstream.name },
        'messages of a call whose client was asked something were lost (maxQueued)',
      ),
    )
  }

  /** Sends a call when its turn comes. */
  async #begin(call: UpstreamCall, bridged: BridgedCall, ready: JsonObject): Sent {
    const { session } = bridged
    bridged.state = 'waiting'
    const refused = await session.lock.enter(bridged, { signal: call.signal, timeout: this.#lockTimeout })
    if (refused) return call.signal.aborted ? undefined : refused
    await bridged.send(ready).catch((error) => {
      session.lock.leave(bridged)
      throw error
    })
    return this.#follow(call, bridged, ready)
  }

  /** Waits for the answer, or until the server asks. */
  async #follow(call: UpstreamCall, bridged: BridgedCall, ready: JsonObject): Sent {
    const { message, signal } = call
    const cancel = () => bridged.cancel('The client went away')
    if (signal.aborted) cancel()
    signal.addEventListener('abort', cancel)
    const outcome = await bridged.next(call)
    signal.removeEventListener('abort', cancel)
    if (signal.aborted || outcome !== 'asked') bridged.leave()
    if (signal.aborted) return undefined
    // A question that the server has resolved itself needs no answer.
    if (outcome === 'asked')
      return bridged.over ? this.#follow(call, bridged, ready) : this.#inputRequired(call, bridged)
    if (outcome instanceof Fault) return outcome
    // The server may manage without the capability; if it failed, the client learns the reason.
    if (bridged.missing && !call.session && endOf(outcome).outcome !== 'ok')
      return errorResponse(message.id, missingCapability(bridged.missing))
    return { ...this.#answered(outcome, call, ready), id: message.id }
  }

  #inputRequired(call: UpstreamCall, bridged: BridgedCall): JsonObject {
    const { quotaKey = '' } = call
    const requestState = this.#pendingInput.add(bridged, boundTo(call), quotaKey, () => bridged.giveUp())
    bridged.session.lock.park(bridged, () => this.#pendingInput.expire(requestState))
    const inputRequests = Object.fromEntries(
      [...bridged.questions].map(([key, { method, params, raw }]) => {
        const given = raw.params !== undefined && { params: omit(params, 'elicitationId') }
        return [key, { method, ...given }]
      }),
    )
    const result = { resultType: 'input_required', inputRequests, requestState }
    return { jsonrpc: '2.0', id: call.message.id, result }
  }

  async #resume(call: UpstreamCall, handle: string): Sent {
    const { message } = call
    const bridged = this.#pendingInput.take(handle, boundTo(call))
    if (!bridged) return errorResponse(message.id, UNKNOWN_STATE)
    return bridged.session.use((ready) => this.#continue(call, bridged, ready))
  }

  async #continue(call: UpstreamCall, bridged: BridgedCall, ready: JsonObject): Sent {
    const { message, signal } = call
    const { session } = bridged
    const wait = { signal, timeout: this.#lockTimeout }
    const refused = bridged.over ? undefined : await session.lock.enter(bridged, wait)
    if (refused) {
      bridged.giveUp()
      return signal.aborted ? undefined : refused
    }
    const { [LOG_LEVEL]: level } = metaOf(message.params)
    if (level !== undefined && !bridged.over) await session.setLevel(ready, level)
    bridged.answer(isObject(message.params.inputResponses) ? message.params.inputResponses : {})
    // Missing answers are asked for again (Error Handling).
    const asksAgain = bridged.questions.size > 0 && !bridged.over
    return asksAgain ? this.#inputRequired(call, bridged) : this.#follow(call, bridged, ready)
  }

  async #discover(call: UpstreamCall): Promise<JsonObject | Fault> {
    const ready = await this.handshake(call)
    if (ready instanceof Fault) return ready
    const { capabilities, instructions } = ready
    const result = {
      ...SUPPORTED_VERSIONS,
      capabilities: isObject(capabilities) ? omit(capabilities, 'tasks') : {},
      ...(typeof instructions === 'string' && { instructions }),
    }
    return { ...this.#answered({ jsonrpc: '2.0', result }, call, ready), id: call.message.id }
  }

  /** A response in the form of 2026-07-28. */
  #answered(raw: JsonObject, { message, session }: UpstreamCall, { serverInfo }: JsonObject): JsonObject {
    const { method } = message
    const { result, error } = raw
    // "Resource not found" has another code (changelog of 2026-07-28, minor changes, 6).
    if (isObject(error))
      return error.code === -32002 && !session ? { ...raw, error: { ...error, code: INVALID_PARAMS } } : raw
    if (!isObject(result)) return raw
    if (method === 'tools/list') this.#headers.learn(result)
    return {
      ...raw,
      result: {
        resultType: 'complete',
        // Session-based servers declare no lifetime of their lists.
        ...(CACHEABLE.has(method) && { ttlMs: 0, cacheScope: 'private' }),
        // Clients of session-based revisions read a result without content as an empty one.
        ...(method === 'tools/call' && { content: [] }),
        ...result,
        _meta: { ...(serverInfo !== undefined && { [SERVER_INFO]: serverInfo }), ...metaOf(result) },
      },
    }
  }

  async #listTools(call: UpstreamCall, params: JsonObject): Promise<JsonObject | Fault> {
    const list = () => {
      const session = this.pool.session(ownerOf(call), true)
      return session.use(() => session.request('tools/list', params).answer)
    }
    const answer = await list()
    return answer instanceof Fault && answer.status === FORGOTTEN ? list() : answer
  }
}

/** The owner of a call's session. */
function ownerOf({ message, resolved, caller, quotaKey, peer, headers }: UpstreamCall): SessionOwner {
  return { resolved, caller, name: headers[SESSION_NAME], quotaKey, peer, ...helloOf(message.params) }
}

/** Number of streams subscribed to each resource, by session. */
const subscribers = new WeakMap<PooledSession, Map<string, number>>()

/** Serves `subscriptions/listen` from a session: acknowledged first, all messages tagged with its id. */
async function listenInSession(
  { message, onMessage, signal }: UpstreamCall,
  session: PooledSession,
  ready: JsonObject,
): Promise<JsonObject | Fault | undefined> {
  const { id, params } = message
  const { notifications } = params
  const named = isObject(notifications) ? notifications.resourceSubscriptions : undefined
  const tooMany = Array.isArray(named) && named.length > MAX_SUBSCRIPTIONS
  if (!isObject(notifications) || tooMany) {
    const text = tooMany
      ? `params.notifications.resourceSubscriptions has more than ${MAX_SUBSCRIPTIONS} URIs`
      : 'params.notifications must be an object such as {"toolsListChanged": true}'
    return errorResponse(id, { code: INVALID_PARAMS, message: text })
  }
  const wanted = notifications
  const capabilities = isObject(ready.capabilities) ? ready.capabilities : {}
  const can = (list: string, key: string) => isObject(capabilities[list]) && capabilities[list][key] === true
  const granted: JsonObject = {}
  const methods = new Set<string>()
  for (const [key, list] of Object.entries(LIST_KINDS)) {
    if (wanted[key] !== true || !can(list, 'listChanged')) continue
    granted[key] = true
    methods.add(`notifications/${list}/list_changed`)
  }
  const asked = Array.isArray(wanted.resourceSubscriptions) ? wanted.resourceSubscriptions : []
  const uris = can('resources', 'subscribe') ? asked.filter((uri) => typeof uri === 'string') : []
  if (uris.length) granted.resourceSubscriptions = uris

  const send = (method: string, body: JsonObject) => {
    const tagged = { ...body, _meta: { ...metaOf(body), [SUBSCRIPTION_ID]: id } }
    onMessage({ jsonrpc: '2.0', method, params: tagged })
  }
  const listener = (method: string, body: JsonObject) => {
    const updated = method === 'notifications/resources/updated' && uris.some((uri) => isBelow(body.uri, uri))
    if (updated || methods.has(method)) send(method, body)
  }
  send(ACKNOWLEDGED, { notifications: granted })
  session.listeners.add(listener)
  for (const uri of uris) subscribe(session, uri)
  return new Promise((resolve) => {
    const end = () => {
      session.listeners.delete(listener)
      for (const uri of uris) unsubscribe(session, uri)
      resolve(undefined)
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
    session.onEnd.add(end)
  })
}

/** A server may report a sub-resource of the subscribed one (2025-11-25, Resources). */
function isBelow(updated: Json | undefined, uri: string): boolean {
  return (
    typeof updated === 'string' &&
    (updated === uri || updated.startsWith(uri.endsWith('/') ? uri : `${uri}/`))
  )
}

function subscribe(session: PooledSession, uri: string): void {
  const counts = subscribers.get(session) ?? new Map<string, number>()
  subscribers.set(session, counts)
  const count = counts.get(uri) ?? 0
  counts.set(uri, count + 1)
  if (count === 0)
    session.request('resources/subscribe', { uri }).answer.catch(unexpected('resources/subscribe'))
}

function unsubscribe(session: PooledSession, uri: string): void {
  const counts = subscribers.get(session)
  const count = counts?.get(uri) ?? 0
  if (count > 1) counts?.set(uri, count - 1)
  else if (counts?.delete(uri))
    session.request('resources/unsubscribe', { uri }).answer.catch(unexpected('resources/unsubscribe'))
}

/** Digest of caller, template values, method and parameters (2026-07-28, Server Requirements). */
export function boundTo({ message, caller, resolved }: UpstreamCall): string {
  return digestOfRequest(message, [caller ?? null, resolved.key])
}
