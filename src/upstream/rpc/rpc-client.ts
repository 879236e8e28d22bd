import type { Json, JsonObject } from '../../json/index.ts'
import {
  CANCELLATION,
  type CancelSignal,
  Fault,
  InFlight,
  isObject,
  type Message,
  metaOf,
  ownId,
  ownNotification,
  ownRequest,
  type Request,
  type RequestId,
  tracedParams,
} from '../../mcp/index.ts'
import type { Span } from '../../telemetry/trace.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Operation, Operations } from '../sent-requests.ts'
import {
  type Channel,
  type ChannelEvents,
  FAILED,
  idAmong,
  type ResumeToken,
  timedOut,
} from '../transport/channel.ts'

/** A request of a server to its client. */
export type ServerRequest = Request

/** Events that belong to none of the gateway's own requests; those are settled before `closed`. */
export type RpcEvents = ChannelEvents

export interface RequestOptions {
  /** Receives progress, and other messages attributed to the request. */
  onMessage?(raw: JsonObject): void
  /** Whether the client is being asked something: the server's silence is then no timeout. */
  isAsking?(): boolean
  /** Cancels the request and notifies the server. */
  signal?: CancelSignal
  /** Milliseconds without progress after which the request times out. Default: the server's `limits.timeout`. */
  timeout?: number
  /** Parent span, if traces are recorded. */
  span?: Span | undefined
}

/** One of the gateway's own requests without a response yet. */
export interface PendingRequest {
  readonly onMessage: RequestOptions['onMessage'] | undefined
  readonly isAsking: RequestOptions['isAsking'] | undefined
  readonly signal: CancelSignal | undefined
  readonly id: RequestId
  readonly method: string
  readonly operation: Operation
  /** The caller's progress token. */
  readonly token: Json | undefined
  timer: NodeJS.Timeout | undefined
  resolve(answer: JsonObject | Fault): void
  /** Cancels it when `signal` is aborted. */
  readonly onAbort: (() => void) | undefined
  /** Number of server messages received before it. */
  readonly heard: number
}

export interface SentRequest {
  /** The response, with the gateway's own id, or a fault. */
  answer: Promise<JsonObject | Fault>
  /** Cancels the request and notifies the server. */
  cancel(reason: string): void
}

/** Requests with which a session begins, or is kept. */
const BEGINNING = /^(?:initialize|ping|server\/discover|logging\/setLevel|resources\/subscribe)$/

/** Events of a connection that is not used yet. */
export const NO_EVENTS: RpcEvents = { message() {}, rejected() {}, closed() {} }

/**
 * JSON-RPC over one connection to a server. The gateway's own requests get ids, progress tokens, deadlines and
 * cancellation here; client messages with their own ids are sent by `forward`.
 */
export class RpcClient {
  /** The current user of the connection, which changes after a probe. */
  events: RpcEvents = NO_EVENTS
  /** The handshake made by a probe: for which client data, and the server's result. */
  handshake?: { by: string; result: JsonObject }
  /** Called when the connection was lost. */
  onLost: ((fault: Fault) => void) | undefined
  /** Whether the server has ever answered. */
  answered = false
  /** Whether it has ever answered more than the beginning of a session. */
  wasUseful = false
  readonly #server: string
  readonly #timeout: number
  readonly #pending = new InFlight<RequestId, PendingRequest>()
  /** Next id, counted as in the official SDKs. */
  #nextId = 0
  /** Whether client requests with their own ids are sent too. */
  #isShared = false
  /** Number of messages received. */
  #heard = 0
  #isChecking = false
  readonly #channel: Channel
  #ended: Fault | undefined
  #onSessionEnd: (() => void) | undefined

  /**
   * @param timeout milliseconds of silence after which a request times out
   * @param onEnd called once, when the connection was closed or lost
   */
  constructor(
    server: string,
    timeout: number,
    private readonly operations: Operations,
    open: (events: ChannelEvents) => Channel,
    private readonly onEnd: () => void,
  ) {
    this.#server = server
    this.#timeout = timeout
    this.#channel = open({
      message: (message) => this.#guarded(() => this.#take(message)),
      rejected: (id, fault) => this.#guarded(() => this.#reject(id, fault)),
      silent: () => this.#guarded(() => this.events.silent?.()),
      closed: (fault) => this.#guarded(() => this.#lost(fault)),
    })
  }

  /** Resolves when server-initiated messages can arrive, will not arrive, or opening the stream takes too long. */
  get listening(): Promise<void> | undefined {
    return this.#channel.listening
  }

  /** With this token another replica can continue the session; undefined: none can. */
  get resume(): ResumeToken | undefined {
    return this.#channel.resume
  }

  /** Leaves the session to other replicas: `close` then ends only the connection. */
  detach(): void {
    this.#channel.detach?.()
  }

  /** Opens the stream of server-initiated messages of a resumed session. */
  listen(): void {
    this.#channel.listen?.()
  }

  get ended(): boolean {
    return this.#ended !== undefined
  }

  /** Number of the gateway's own requests without a response. */
  get size(): number {
    return this.#pending.size
  }

  /** Sends one of the gateway's own requests. */
  request(method: string, params: JsonObject, options: RequestOptions = {}): SentRequest {
    const meta = metaOf(params)
    const { progressToken: token } = meta
    const id = this.#isShared ? ownId() : this.#nextId++
    const own = token === undefined ? params : { ...params, _meta: { ...meta, progressToken: id } }
    const { sent, operation } = this.#expect(id, method, params, token, options)
    const fault = this.#ended ?? (options.signal?.aborted ? CANCELLATION : undefined)
    const traced = operation.trace ? tracedParams(own, operation.trace) : own
    const request = ownRequest(method, traced, id)
    const refused = fault ?? this.#channel.send(request)
    if (refused) this.#settle(id, refused)
    return sent
  }

  /** Registers a request. Separate from `request`, so that large parameters are not retained. */
  #expect(
    id: RequestId,
    method: string,
    params: JsonObject,
    token: Json | undefined,
    options: RequestOptions,
  ): { sent: SentRequest; operation: Operation } {
    const { signal, onMessage, isAsking, span, timeout = this.#timeout } = options
    const operation = this.operations.begin({ id, method, params, span })
    const cancel = (reason: string) => {
      if (!this.#pending.has(id)) return
      this.#cancelled(id, reason)
      this.#settle(id, CANCELLATION)
    }
    const heard = this.#heard
    const answer = new Promise<JsonObject | Fault>((resolve) => {
      const timer = timeout === Infinity ? undefined : setTimeout(() => this.#expire(id, timeout), timeout)
      const onAbort = signal && (() => cancel('The client went away'))
      this.#pending.set(id, {
        id,
        method,
        operation,
        token,
        timer,
        resolve,
        onMessage,
        isAsking,
        signal,
        onAbort,
        heard,
      })
      if (onAbort) signal.addEventListener('abort', onAbort)
    })
    return { sent: { answer, cancel }, operation }
  }

  /** Sends a message of a client unchanged; its answer comes as an event. */
  forward(message: Message, headers?: Readonly<Record<string, string>>): Fault | undefined {
    this.#isShared = true
    return this.#send(message, headers)
  }

  #send(message: Message, headers?: Readonly<Record<string, string>>): Fault | undefined {
    return this.#ended ?? this.#channel.send(message, headers)
  }

  /**
   * Pings after an unanswered request: a server that does not answer is lost, so that later calls do not wait for a
   * frozen one.
   */
  check(): void {
    if (this.#isChecking || this.#ended) return
    this.#isChecking = true
    const heard = this.#heard
    const silent = new Fault('lost', `The server ${this.#server} has stopped responding`)
    this.request('ping', {})
      .answer.then((answer) => {
        this.#isChecking = false
        if (answer instanceof Fault && answer.kind === 'timeout' && this.#heard === heard)
          this.#abandon(silent)
      })
      .catch(unexpected('a ping'))
  }

  notify(method: string, params?: JsonObject): void {
    this.#send(ownNotification(method, params))
  }

  respond({ id }: ServerRequest, answer: { result: Json } | { error: Json }): void {
    this.#send({ kind: 'response', id, raw: { ...answer, jsonrpc: '2.0', id } })
  }

  pending(id: unknown): PendingRequest | undefined {
    const found = idAmong(id as RequestId, (one) => this.#pending.has(one))
    return found === undefined ? undefined : this.#pending.get(found)
  }

  /** The request that an unattributed message belongs to: the only possible one. */
  only(can: (request: PendingRequest) => boolean): PendingRequest | undefined {
    const found = this.#pending.values().filter((request) => request.onMessage && can(request))
    return found.length === 1 ? found[0] : undefined
  }

  /** Settles a request in the server's place. */
  settle({ id }: PendingRequest, fault: Fault): void {
    this.#settle(id, fault)
  }

  close(fault = new Fault('lost', `The session with the server ${this.#server} has ended`)): void {
    this.#channel.close()
    this.#end(fault)
  }

  /** Ends the connection because of a bug of the gateway. */
  fail(error: unknown): void {
    const fault = new Fault('internal', `${FAILED} in the session with the server ${this.#server}`)
    unexpected(`a connection to the server ${this.#server}`, () => this.#abandon(fault))(error)
  }

  #abandon(fault: Fault): void {
    this.#channel.close()
    this.#lost(fault)
  }

  #take(message: Message): void {
    if (this.#ended) return
    this.#heard++
    if (message.kind === 'response') {
      this.answered = true
      const { raw } = message
      const request = this.pending(message.id)
      this.wasUseful ||= raw.result !== undefined && !BEGINNING.test(request?.method ?? '')
      if (request && this.#settle(request.id, raw)) return
    } else if (message.kind === 'notification' && message.method === 'notifications/progress') {
      const { params, raw } = message
      const request = this.pending(params.progressToken)
      if (request) {
        request.timer?.refresh()
        if (request.token !== undefined)
          request.onMessage?.({ ...raw, params: { ...params, progressToken: request.token } })
        return
      }
    }
    this.events.message(message)
  }

  #reject(id: RequestId | undefined, fault: Fault): void {
    if (this.#ended) return
    this.#heard++
    if (id !== undefined && this.#settle(id, fault)) return
    // Without an id, it may answer any request.
    if (id === undefined) for (const request of this.#pending.values()) this.#settle(request.id, fault)
    this.events.rejected(id, fault)
  }

  #lost(fault: Fault): void {
    if (this.#ended) return
    const { kind, message, status } = fault
    const told = new Fault(
      kind,
      `${message}; the call was not repeated`,
      status === undefined ? {} : { status },
    )
    this.onLost?.(fault)
    this.#end(kind === 'unreachable' || kind === 'credentials' || fault.login ? fault : told)
    this.events.closed(fault)
  }

  #expire(id: RequestId, timeout: number): void {
    const request = this.#pending.get(id)
    if (request?.isAsking?.()) {
      request.timer?.refresh()
      return
    }
    const { method = '' } = request ?? {}
    // A handshake cannot be cancelled (2025-11-25, Cancellation).
    if (method !== 'initialize') this.#cancelled(id, 'timed out')
    const what = method === 'initialize' || method === 'server/discover' ? 'handshake' : 'call'
    this.#settle(id, timedOut(this.#server, timeout, what))
  }

  #cancelled(requestId: RequestId, reason: string): void {
    this.notify('notifications/cancelled', { requestId, reason })
    if (this.#pending.get(requestId)?.heard === this.#heard) this.check()
  }

  /** Settles one of the gateway's own requests; false if the id is unknown. */
  #settle(id: RequestId, answer: JsonObject | Fault): boolean {
    const request = this.#pending.get(id)
    if (!request) return false
    this.#pending.delete(id)
    clearTimeout(request.timer)
    if (request.onAbort) request.signal?.removeEventListener('abort', request.onAbort)
    request.operation.settled(answer)
    if (request.method === 'initialize' && isObject(answer) && isObject(answer.result))
      this.#onSessionEnd ??= this.operations.session(answer.result.protocolVersion)
    request.resolve(answer)
    return true
  }

  #end(fault: Fault): void {
    if (this.#ended) return
    this.#ended = fault
    this.onEnd()
    this.#onSessionEnd?.()
    for (const { id } of this.#pending.values()) this.#settle(id, fault)
  }

  /** Runs an event handler; an exception ends only this connection. */
  #guarded(handler: () => void): void {
    try {
      handler()
    } catch (error) {
      this.fail(error)
    }
  }
}
