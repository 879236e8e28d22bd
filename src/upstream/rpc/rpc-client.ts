import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import {
  type CancelSignal,
  Fault,
  InFlight,
  isObject,
  type Message,
  messageOf,
  metaOf,
  ownId,
  type RequestId,
  tracedParams,
} from '../../mcp/index.ts'
import type { Span } from '../../telemetry/trace.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Operation, Operations } from '../sent-requests.ts'
import { type Channel, type ChannelEvents, FAILED, idAmong } from '../transport/channel.ts'

/** A request of a server to its client. */
export type ServerRequest = Extract<Message, { kind: 'request' }>
export type Notification = Extract<Message, { kind: 'notification' }>

/** Hears everything but what concerns the gateway's own requests, which have been answered when the connection closes. */
export type RpcEvents = ChannelEvents

export interface RequestOptions {
  /** Takes progress, and whatever else the owner of the connection attributes to the request. */
  onMessage?(raw: JsonObject): void
  /** Whether the client is asked something: it is not the server that is silent then. */
  isAsking?(): boolean
  /** Cancels the request; the server is notified. */
  signal?: CancelSignal
  /** Milliseconds without progress after which the request times out; default: the server's `limits.timeout`. */
  timeout?: number
  /** What it belongs to, where traces are recorded. */
  span?: Span | undefined
}

/** A request of the gateway's own that has no response yet. */
export interface PendingRequest {
  readonly onMessage: RequestOptions['onMessage'] | undefined
  readonly isAsking: RequestOptions['isAsking'] | undefined
  readonly signal: CancelSignal | undefined
  readonly id: RequestId
  readonly method: string
  readonly operation: Operation
  /** The progress token of whoever asked for the request. */
  readonly token: Json | undefined
  timer: NodeJS.Timeout | undefined
  resolve(answer: JsonObject | Fault): void
  /** Cancels it when `signal` is aborted. */
  readonly onAbort: (() => void) | undefined
  /** How many messages of the server there were before it. */
  readonly heard: number
}

export interface SentRequest {
  /** The response, whose id is the gateway's own, or why there is none. */
  answer: Promise<JsonObject | Fault>
  /** Cancels the request; the server is notified. */
  cancel(reason: string): void
}

/** For a connection that nobody uses yet. */
export const NOBODY: RpcEvents = { message() {}, rejected() {}, closed() {} }

/** The fault of a request to which a server said nothing for so many milliseconds. */
export function timedOut(server: string, ms: number, what = 'call'): Fault {
  return new Fault(
    'timeout',
    `No response from the server ${server} for ${ms / 1000} s; the ${what} timed out`,
  )
}

/**
 * JSON-RPC over one connection to a server. Requests of the gateway's own get ids, progress tokens, a deadline and
 * cancellation here and nowhere else; messages of a client with a session pass with ids of its own (`forward`).
 */
export class RpcClient {
  /** Who uses the connection: it changes hands after a probe. */
  events: RpcEvents = NOBODY
  /** The handshake that a probe had to make: for whom, and the server's result. */
  handshake?: { by: string; result: JsonObject }
  /** Whether the server has ever answered. */
  answered = false
  readonly #server: string
  readonly #timeout: number
  readonly #pending = new InFlight<RequestId, PendingRequest>()
  /** Of the next request, as the official SDKs count them. */
  #nextId = 0
  /** Whether requests of a client go over it, with ids of the client's own. */
  #isShared = false
  /** Messages of the server. */
  #heard = 0
  #isChecking = false
  readonly #channel: Channel
  #ended: Fault | undefined
  #onSessionEnd: (() => void) | undefined

  /**
   * @param timeout milliseconds of silence after which a request times out
   * @param onEnd runs once, when the connection was closed or lost
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
      message: (message, text) => this.#guarded(() => this.#take(message, text)),
      rejected: (id, fault) => this.#guarded(() => this.#reject(id, fault)),
      silent: () => this.#guarded(() => this.events.silent?.()),
      closed: (fault) => this.#guarded(() => this.#lost(fault)),
    })
  }

  /** Resolves when what the server says on its own arrives, it has no stream for it, or has not opened one in time. */
  get listening(): Promise<void> | undefined {
    return this.#channel.listening
  }

  get ended(): boolean {
    return this.#ended !== undefined
  }

  /** Requests of the gateway's own without a response. */
  get size(): number {
    return this.#pending.size
  }

  /** Sends a request of the gateway's own. */
  request(method: string, params: JsonObject, options: RequestOptions = {}): SentRequest {
    const meta = metaOf(params)
    const { progressToken: token } = meta
    const id = this.#isShared ? ownId() : this.#nextId++
    const own = token === undefined ? params : { ...params, _meta: { ...meta, progressToken: id } }
    const { sent, operation } = this.#expect(id, method, params, token, options)
    const fault = this.#ended ?? (options.signal?.aborted ? cancelled() : undefined)
    const traced = operation.trace ? tracedParams(own, operation.trace) : own
    const refused = fault ?? this.#channel.send(stringify(messageOf(method, traced, id)))
    if (refused) this.#settle(id, refused)
    return sent
  }

  /** Waits for a response. Apart from `request`, so that the parameters, which may be large, are not kept until then. */
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
      this.#settle(id, cancelled())
    }
    const heard = this.#heard
    const answer = new Promise<JsonObject | Fault>((resolve) => {
      const timer = timeout === Infinity ? undefined : setTimeout(() => this.#expire(id, timeout), timeout)
      const onAbort = signal && (() => cancel('The client went away'))
      // All of one shape: copies of options take V8 several microseconds a call.
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

  /** Sends a message of a client as it is; its answer comes as an event. */
  forward(text: string): Fault | undefined {
    this.#isShared = true
    return this.#send(text)
  }

  #send(text: string): Fault | undefined {
    return this.#ended ?? this.#channel.send(text)
  }

  /**
   * A request was left unanswered: a server that does not answer a ping either is lost, so that whatever froze it does not
   * keep all later calls waiting.
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
    this.#send(stringify(messageOf(method, params)))
  }

  respond({ id }: ServerRequest, answer: { result: Json } | { error: Json }): void {
    this.#send(stringify({ ...answer, jsonrpc: '2.0', id }))
  }

  pending(id: unknown): PendingRequest | undefined {
    const found = idAmong(id as RequestId, (one) => this.#pending.has(one))
    return found === undefined ? undefined : this.#pending.get(found)
  }

  /** The request that a message without a reference to one belongs to: the only one that can have such messages. */
  only(can: (request: PendingRequest) => boolean): PendingRequest | undefined {
    const found = this.#pending.values().filter((request) => request.onMessage && can(request))
    return found.length === 1 ? found[0] : undefined
  }

  /** Ends a request in the server's place. */
  settle({ id }: PendingRequest, fault: Fault): void {
    this.#settle(id, fault)
  }

  close(fault = new Fault('lost', `The session with the server ${this.#server} has ended`)): void {
    this.#channel.close()
    this.#end(fault)
  }

  /** Ends the connection because of a fault of the gateway's own. */
  fail(error: unknown): void {
    const fault = new Fault('internal', `${FAILED} in the session with the server ${this.#server}`)
    unexpected(`a connection to the server ${this.#server}`, () => this.#abandon(fault))(error)
  }

  #abandon(fault: Fault): void {
    this.#channel.close()
    this.#lost(fault)
  }

  #take(message: Message, text: string): void {
    if (this.#ended) return
    this.#heard++
    if (message.kind === 'response') {
      this.answered = true
      const { raw } = message
      const id = idAmong(message.id, (one) => this.#pending.has(one))
      if (id !== undefined && this.#settle(id, raw)) return
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
    this.events.message(message, text)
  }

  #reject(id: RequestId | undefined, fault: Fault): void {
    if (this.#ended) return
    this.#heard++
    if (id !== undefined && this.#settle(id, fault)) return
    // Without an id it may be the answer to any request.
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
    this.#end(kind === 'unreachable' ? fault : told)
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

  /** The end of every request of the gateway's own; false: there is none with this id. */
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

  /** Runs a handler of what comes from outside; what it throws ends the connection, and nothing else. */
  #guarded(handler: () => void): void {
    try {
      handler()
    } catch (error) {
      this.fail(error)
    }
  }
}

function cancelled(): Fault {
  return new Fault('cancelled', 'The call was cancelled')
}
