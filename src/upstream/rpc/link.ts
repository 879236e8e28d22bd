import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import {
  Cancellation,
  Fault,
  InFlight,
  isObject,
  type Message,
  messageOf,
  type Request,
  type RequestId,
  type Response,
  readMessage,
  requestIdOf,
} from '../../mcp/index.ts'
import type { Shaping } from '../../shaping/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { isRepeatable, type Restored } from '../backend/session-state.ts'
import type { Resolved } from '../definition.ts'
import type { Operation } from '../sent-requests.ts'
import { idAmong, withId } from '../transport/channel.ts'
import { announce, announcedLists, LastingStream } from '../transport/lasting-stream.ts'
import type { Upstream } from '../upstream.ts'
import { NO_EVENTS, type RpcClient } from './rpc-client.ts'

export type { Request, Response } from '../../mcp/index.ts'

/** The response to a client's `initialize`, or the failure. */
export type Started = { response: Response; text: string } | Fault

/** A client's session with a server of any revision. */
export interface Link {
  /** Opens the session with the client's `initialize`. */
  start(request: Request, text: string): Promise<Started>
  /** Sends a message of the client; a promise only while the session is being reopened. */
  send(message: Message, text: string): Fault | undefined | Promise<Fault | undefined>
  close(): void
}

export interface LinkEvents {
  /** @param shaping of the result, if known only to the aggregate */
  message(message: Message, text: string, shaping?: Shaping): void
  /** These requests of the client, or all, will get no answer. @param kept requests that will be sent again */
  lost(fault: Fault, ids?: Iterable<RequestId>, kept?: ReadonlySet<RequestId>): void
  /** A message was invalid; `id` is the request that it answers, if known. */
  rejected(id: RequestId | undefined, fault: Fault): void
  /** The server became unreachable without a request; absent: not needed. */
  silent?(): void
  /** The server refuses the client's session, so the client must initialize again. */
  refused(): void
}

const CANCELLED = 'notifications/cancelled'
const CANCELLATION = new Fault('cancelled', 'The call was cancelled')
/** Completes a handshake. */
export const INITIALIZED = '{"method":"notifications/initialized","jsonrpc":"2.0"}'

export interface SessionLinkOptions {
  upstream: Upstream
  resolved: Resolved
  /** Quota key of the session. */
  quotaKey: string
  /** Requests that restore the state of a lost session; their answers are ignored. */
  restore(): Restored[]
}

/**
 * A client's session with a session-based server, with the client's ids. If the server dies or forgets the session, the
 * next request opens another one with the same handshake.
 */
export class SessionLink implements Link {
  readonly #options: SessionLinkOptions
  readonly #events: LinkEvents
  #client: RpcClient | undefined
  #reopening: Promise<Fault | undefined> | undefined
  #initialize: Request | undefined
  /** Negotiated with the client. */
  #revision: Json | undefined
  /** Fault of a new session that replaced a lost one. */
  #refusal: Fault | undefined
  readonly #closed = new Cancellation()
  /** Running requests, as text, and whether they may be repeated. */
  readonly #sent = new Map<RequestId, { text: string; again: boolean }>()
  /** Requests of the client that the server has not answered. */
  readonly #operations = new InFlight<RequestId, Operation>()
  /** Stream of server-initiated messages over HTTP; a child is restarted only for a request. */
  readonly #stream: LastingStream | undefined

  constructor(options: SessionLinkOptions, events: LinkEvents) {
    this.#options = options
    this.#events = events
    const { definition, streams } = options.upstream
    if (definition.server.type !== 'stdio') this.#stream = new LastingStream(streams, this.#closed)
  }

  start(request: Request): Promise<Started> {
    this.#initialize = request
    return this.#open(request)
  }

  send(message: Message, given: string): Fault | undefined | Promise<Fault | undefined> {
    const text = message.kind === 'request' ? this.#begun(message, given) : given
    if (message.kind === 'request' && this.#stream)
      this.#sent.set(message.id, { text, again: isRepeatable(message.method) })
    else if (message.kind === 'notification' && message.method === CANCELLED) {
      this.#settle(requestIdOf(message), CANCELLATION)
    }
    if (this.#client && !this.#reopening) {
      const fault = this.#client.forward(text)
      if (fault && message.kind === 'request') this.#settle(message.id, fault)
      if (message.kind === 'notification' && message.method === CANCELLED) this.#client.check()
      return fault
    }
    if (this.#closed.aborted || !this.#initialize) return this.#ended()
    // Messages other than requests make sense only in the lost session.
    if (message.kind !== 'request' && !this.#reopening) return undefined
    return this.#again(this.#initialize).then((fault) => {
      const failed = fault ?? this.#client?.forward(text)
      if (failed && message.kind === 'request') this.#settle(message.id, failed)
      return failed
    })
  }

  close(): void {
    this.#closed.abort()
    this.#settleAll(this.#ended())
    this.#client?.close()
    this.#client = undefined
  }

  /** Ends the link, but keeps its connection for a probe. */
  release(): RpcClient | undefined {
    const client = this.#client
    if (client) client.events = NO_EVENTS
    this.#client = undefined
    this.#closed.abort()
    return client
  }

  /** @returns the text of a request to send */
  #begun(request: Request, text: string): string {
    const operation = this.#options.upstream.operations.begin(request)
    this.#operations.set(request.id, operation)
    return operation.textOf(request, text)
  }

  #settle(id: RequestId, answer: JsonObject | Fault): void {
    this.#sent.delete(id)
    this.#operations.get(id)?.settled(answer)
    this.#operations.delete(id)
  }

  /** @param but requests that will be sent again */
  #settleAll(fault: Fault, but?: ReadonlyMap<RequestId, string>): void {
    for (const id of this.#operations.keys()) if (!but?.has(id)) this.#settle(id, fault)
  }

  async #open({ id, params }: Request): Promise<Started> {
    const { upstream, resolved, quotaKey } = this.#options
    const { starts, definition } = upstream
    const { message, lost, rejected, silent } = this.#events
    let ready = false
    const closed = (fault: Fault) => {
      this.#client = undefined
      if (!ready) return
      const sent = [...this.#sent].flatMap(([id, { text, again }]) => (again ? [[id, text] as const] : []))
      const again = fault.status === 404 ? new Map(sent) : undefined
      this.#settleAll(fault, again)
      this.#sent.clear()
      lost(fault, undefined, again && new Set(again.keys()))
      if (this.#stream) silent?.()
      if (again?.size) this.#repeat(again).catch(unexpected('a request that is repeated'))
      this.#regain(fault).catch(unexpected('a lost session'))
    }
    const take: LinkEvents['message'] = (given, text) => {
      if (given.kind !== 'response') return message(given, text)
      const id = idAmong(given.id, (one) => this.#operations.has(one))
      if (id === undefined) return
      this.#settle(id, given.raw)
      const shown = id === given.id ? { message: given, text } : withId(given, id)
      message(shown.message, shown.text)
    }
    const refuse: LinkEvents['rejected'] = (id, fault) => {
      const sent = id === undefined ? undefined : this.#sent.get(id)
      // The session is lost, and the request will be repeated in a new one.
      if (fault.isUnexecuted && sent) {
        sent.again = true
        return
      }
      if (id === undefined) this.#settleAll(fault)
      else this.#settle(id, fault)
      rejected(id, fault)
    }
    const client = upstream.connect(
      resolved,
      { message: take, rejected: refuse, closed, ...(silent && { silent }) },
      quotaKey,
    )
    if (client instanceof Fault) return client
    this.#client = client
    const onMessage = (raw: JsonObject) => message(readMessage(raw), stringify(raw))
    const options = { timeout: definition.server.startupTimeout, onMessage }
    const answer = await client.request('initialize', params, options).answer
    ready = true
    if (answer instanceof Fault) {
      if (this.#closed.aborted) return this.#ended()
      upstream.startFailed(resolved.key, answer)
      client.close()
      this.#client = undefined
      return answer
    }
    starts.worked(resolved.key)
    if (isObject(answer.result)) this.#revision ??= answer.result.protocolVersion
    const raw = { ...answer, id }
    return { response: { kind: 'response', id, raw }, text: stringify(raw) }
  }

  /** Reopens a lost session, once for all concurrent requests. */
  #again(initialize: Request): Promise<Fault | undefined> {
    this.#reopening ??= this.#reopen(initialize).finally(() => {
      this.#reopening = undefined
    })
    return this.#reopening
  }

  async #reopen(initialize: Request): Promise<Fault | undefined> {
    const answer = await this.#open(initialize)
    if (answer instanceof Fault) return answer
    const { result } = answer.response.raw
    // The revision cannot change within a session.
    if (!isObject(result) || result.protocolVersion !== this.#revision) {
      this.#client?.close()
      this.#client = undefined
      const { name } = this.#options.upstream
      this.#refusal = new Fault('lost', `The server ${name} was restarted, but refused the handshake`)
      return this.#refusal
    }
    const client = this.#client
    client?.forward(INITIALIZED)
    const restored = this.#options
      .restore()
      .map(({ method, params }) => client?.request(method, params).answer)
    if (this.#stream?.opened())
      // Changes missed later are announced by the channel.
      Promise.all([client?.listening, ...restored])
        .then(() => announce(announcedLists(result.capabilities), this.#events.message))
        .catch(unexpected('initialize'))
    return undefined
  }

  /** Repeats requests in a new session, once. */
  async #repeat(again: ReadonlyMap<RequestId, string>): Promise<void> {
    const fault = await this.#again(this.#initialize as Request)
    for (const [id, text] of again) {
      const failed = fault ?? this.#client?.forward(text)
      if (failed) this.#events.lost(failed, [id])
    }
  }

  /** Reopens a lost session without a request, as the client may wait for server-initiated messages. */
  async #regain(why: Fault): Promise<void> {
    let fault: Fault | undefined = why
    while (fault && (await this.#stream?.lost(fault.message))) {
      // A client request has already reopened it.
      if ((this.#client && !this.#reopening) || !this.#initialize) return
      fault = await this.#again(this.#initialize)
      if (fault && fault === this.#refusal) return this.#events.refused()
    }
  }

  #ended(): Fault {
    return new Fault('lost', `The session with the server ${this.#options.upstream.name} has ended`)
  }
}

/** A notification of the gateway; its text is passed separately. */
export function noted(method: string): Message {
  return { kind: 'notification', method, params: {}, raw: messageOf(method) }
}

/** Sends a message that gets no response. */
export function pass(link: Link | undefined, message: Message, text: string): void {
  const outcome = link?.send(message, text)
  if (outcome instanceof Promise) outcome.catch(unexpected('a notification'))
}

/** The fault of a server that refused a handshake. */
export function handshakeRefused(name: string, { error }: JsonObject): Fault {
  const said = isObject(error) && typeof error.message === 'string' ? error.message.slice(0, 300) : ''
  return new Fault('unreachable', `The server ${name} refused the handshake${said && `: ${said}`}`)
}
