import { randomUUID } from 'node:crypto'
import type { Json, JsonObject } from '../../json/index.ts'
import {
  CANCELLATION,
  Cancellation,
  type CancelSignal,
  clientMeta,
  errorResponse,
  Fault,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  InFlight,
  isObject,
  LISTEN,
  type ListKind,
  LOG_LEVEL,
  type Message,
  metaOf,
  negotiate,
  omit,
  ownId,
  ownRequest,
  type Request,
  type RequestId,
  type RpcError,
  readMessage,
  requestIdOf,
  SERVER_INFO,
  SUBSCRIPTION_ID,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Resolved } from '../definition.ts'
import type { StatelessUpstream, UpstreamCall } from '../rpc/stateless-upstream.ts'
import {
  levelOf,
  maySubscribe,
  type Reply,
  replyOf,
  resultOf,
  type UpstreamSession,
  type UpstreamSessionEvents,
} from '../rpc/upstream-session.ts'
import { announce, announcedLists, keepSubscribed } from '../transport/lasting-stream.ts'
import type { Upstream } from '../upstream.ts'

export interface ToStatelessOptions {
  server: StatelessUpstream
  resolved: Resolved
  caller: string | undefined
  /** Quota key of the client. */
  quotaKey: string
  upstream: Pick<Upstream, 'name' | 'streams'>
}

type InputResponses = { inputResponses?: JsonObject } | { error: Json }

/** Maximum rounds of input in one call. */
const MAX_ROUNDS = 32

/**
 * Serves a client's session from a stateless server: session state (capabilities, log level, subscriptions) is kept
 * here and sent with each request, and required input is requested from the client.
 */
export class ToStateless implements UpstreamSession {
  readonly #calls = new InFlight<RequestId, Cancellation>()
  /** Unanswered requests to the client. */
  readonly #asked = new Map<string, (answer: JsonObject) => void>()
  readonly #prefix = `plantgw-${randomUUID()}-`
  #count = 0
  /** `_meta` of every request: the client's info and capabilities. */
  #meta: JsonObject = {}
  #level: string | undefined
  /** The lists whose changes the server announces. */
  #changes: JsonObject = {}
  readonly #uris = new Set<string>()
  /** The open change stream, and any that will replace it. */
  readonly #listening = new Set<Cancellation>()
  #closed = false

  constructor(
    private readonly options: ToStatelessOptions,
    private readonly events: UpstreamSessionEvents,
  ) {}

  async start({ id, params }: Request): Promise<Reply | Fault> {
    const { server, upstream } = this.options
    const { name } = upstream
    this.#meta = clientMeta(
      isObject(params.capabilities) ? params.capabilities : {},
      isObject(params.clientInfo) ? params.clientInfo : undefined,
    )
    const raw = await server.request(this.#call(id, 'server/discover', {}, () => {}, new Cancellation()))
    if (!raw) return new Fault('lost', `No response from the server ${name}`)
    if (raw instanceof Fault) return raw
    const { result } = raw
    if (!isObject(result)) return replyOf({ ...raw, id })
    const capabilities = isObject(result.capabilities) ? result.capabilities : {}
    for (const list of announcedLists(capabilities)) this.#changes[`${list}ListChanged`] = true
    const { instructions } = result
    const initialized = {
      protocolVersion: negotiate(String(params.protocolVersion)),
      capabilities,
      serverInfo: metaOf(result)[SERVER_INFO] ?? { name, version: '' },
      ...(instructions !== undefined && { instructions }),
    }
    return resultOf(id, initialized)
  }

  async request(request: Request): Promise<Reply | Fault> {
    const { id, method, params } = request
    if (this.#closed)
      return new Fault('lost', `The session with the server ${this.options.upstream.name} has ended`)
    switch (method) {
      case 'ping':
        return resultOf(id, {})
      case 'initialize':
        return refused(id, { code: INVALID_REQUEST, message: 'The session is initialized already' })
      case 'logging/setLevel':
        this.#level = levelOf(params)
        return resultOf(id, {})
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return this.#subscribe(id, method, String(params.uri))
      default:
        return this.#relay(request)
    }
  }

  notify(message: Message): void {
    if (message.kind === 'response') {
      this.#asked.get(String(message.id))?.(message.raw)
      this.#asked.delete(String(message.id))
    } else if (message.kind === 'notification') {
      if (message.method === 'notifications/initialized') this.#listen().catch(unexpected(LISTEN))
      if (message.method === 'notifications/cancelled') this.#calls.get(requestIdOf(message))?.abort()
    }
  }

  close(): void {
    this.#closed = true
    for (const listening of this.#listening) listening.abort()
    for (const abort of this.#calls.values()) abort.abort()
    for (const resolve of this.#asked.values()) resolve({})
  }

  async #subscribe(id: RequestId, method: string, uri: string): Promise<Reply> {
    if (method === 'resources/unsubscribe') this.#uris.delete(uri)
    else if (maySubscribe(this.#uris.size, uri)) this.#uris.add(uri)
    else return refused(id, { code: INVALID_PARAMS, message: 'The session has too many subscriptions' })
    await this.#listen()
    return resultOf(id, {})
  }

  /** Runs a client request; each round of input is a separate request (Multi Round-Trip Requests). */
  async #relay(request: Request): Promise<Reply | Fault> {
    const { id } = request
    const abort = new Cancellation()
    this.#calls.set(id, abort)
    try {
      let given = request.params
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const outcome = await this.#round(round === 0 ? id : ownId(), request, given, abort)
        if (!('next' in outcome)) return outcome
        given = outcome.next
      }
      const message = `The server ${this.options.upstream.name} asked for input ${MAX_ROUNDS} times`
      return refused(id, { code: INTERNAL_ERROR, message })
    } finally {
      this.#calls.delete(id)
    }
  }

  /** @returns the reply, or the parameters of the next round */
  async #round(
    asId: RequestId,
    { id, method, params, span }: Request,
    given: JsonObject,
    abort: Cancellation,
  ): Promise<Reply | Fault | { next: JsonObject }> {
    const emit = (raw: JsonObject) => this.#emit(raw)
    const raw = await this.options.server.request(this.#call(asId, method, given, emit, abort, span))
    if (!raw || abort.aborted) return CANCELLATION
    if (raw instanceof Fault) return raw
    const { result } = raw
    if (!isObject(result) || result.resultType !== 'input_required')
      return replyOf({ ...raw, id, ...(isObject(result) && { result: forSession(result) }) })
    const { requestState } = result
    const abandon = () => this.options.server.abandon?.(String(requestState))
    abort.addEventListener('abort', abandon)
    const inputs = await this.#askAll(isObject(result.inputRequests) ? result.inputRequests : {})
    abort.removeEventListener('abort', abandon)
    if (abort.aborted) return CANCELLATION
    if ('error' in inputs) {
      abandon()
      return replyOf({ jsonrpc: '2.0', id, error: inputs.error })
    }
    return { next: { ...params, ...inputs, ...(requestState !== undefined && { requestState }) } }
  }

  /** Asks the client all questions at once. */
  async #askAll(requests: JsonObject): Promise<InputResponses> {
    const entries = Object.entries(requests)
    const answers = await Promise.all(entries.map(([, request]) => this.#ask(request)))
    const failed = answers.find(({ result }) => result === undefined)
    if (failed)
      return { error: failed.error ?? { code: INTERNAL_ERROR, message: 'The client gave no answer' } }
    if (!entries.length) return {}
    return {
      inputResponses: Object.fromEntries(entries.map(([key], i) => [key, answers[i]!.result as Json])),
    }
  }

  #ask(request: Json | undefined): Promise<JsonObject> {
    const { method = '', params } = isObject(request) ? request : {}
    const id = this.#nextId()
    // Session-based revisions give an elicitation by URL an id (2025-11-25, Elicitation).
    const named =
      isObject(params) && params.mode === 'url' ? { elicitationId: randomUUID(), ...params } : params
    return new Promise((resolve) => {
      this.#asked.set(id, resolve)
      this.#emit({ jsonrpc: '2.0', id, method, ...(named !== undefined && { params: named }) })
    })
  }

  /** Opens a change stream for the current subscriptions and ends the previous one; resolves when open. */
  #listen(): Promise<void> {
    const before = [...this.#listening]
    const end = () => {
      for (const listening of before) {
        this.#listening.delete(listening)
        listening.abort()
      }
    }
    const uris = [...this.#uris]
    const notifications = { ...this.#changes, ...(uris.length && { resourceSubscriptions: uris }) }
    const isWanted = !this.#closed && Object.keys(notifications).length > 0
    if (!isWanted) {
      end()
      return Promise.resolve()
    }
    const abort = new Cancellation()
    this.#listening.add(abort)
    return new Promise((resolve) => {
      const subscribe = (take: (raw: JsonObject) => void) => {
        const call = this.#call(ownId(), LISTEN, { notifications }, take, abort)
        // Waiting subscribers are answered even if the stream fails.
        return this.options.server.request(call).finally(resolve)
      }
      const events = {
        onMessage: (raw: JsonObject) => this.#emit(untagged(raw)),
        onOpen: (kinds: ReadonlySet<ListKind>, again: boolean) => {
          end()
          resolve()
          if (again) announce(kinds, this.events.message)
        },
      }
      keepSubscribed(subscribe, events, this.options.upstream.streams, abort).catch(
        unexpected(LISTEN, resolve),
      )
    })
  }

  #nextId(): string {
    return `${this.#prefix}${++this.#count}`
  }

  /** A request with the session's state. */
  #call(
    id: RequestId,
    method: string,
    given: JsonObject,
    onMessage: (raw: JsonObject) => void,
    signal: CancelSignal,
    span?: Request['span'],
  ): UpstreamCall {
    const { caller, quotaKey, resolved } = this.options
    const level = this.#level !== undefined && { [LOG_LEVEL]: this.#level }
    const params = { ...given, _meta: { ...metaOf(given), ...this.#meta, ...level } }
    const message: Request = { ...ownRequest(method, params, id), ...(span && { span }) }
    return { message, headers: {}, caller, quotaKey, resolved, session: this.#prefix, onMessage, signal }
  }

  #emit(raw: JsonObject): void {
    if (!this.#closed) this.events.message(readMessage(raw))
  }
}

function refused(id: RequestId, error: RpcError): Reply {
  return replyOf(errorResponse(id, error))
}

/** A result without members specific to 2026-07-28. */
function forSession(result: JsonObject): JsonObject {
  return withMeta(
    omit(result, 'resultType', 'ttlMs', 'cacheScope', '_meta'),
    omit(metaOf(result), SERVER_INFO),
  )
}

function untagged(raw: JsonObject): JsonObject {
  const { params } = raw
  if (!isObject(params)) return raw
  return { ...raw, params: withMeta(omit(params, '_meta'), omit(metaOf(params), SUBSCRIPTION_ID)) }
}

function withMeta(body: JsonObject, meta: JsonObject): JsonObject {
  return Object.keys(meta).length ? { ...body, _meta: meta } : body
}
