import type { Json, JsonObject } from '../../json/index.ts'
import {
  CANCELLATION,
  Cancellation,
  Fault,
  FIRST_SSE_REVISION,
  InFlight,
  isObject,
  isSessionRevision,
  type Message,
  ownId,
  ownNotification,
  type Request,
  type RequestId,
  readMessage,
  requestIdOf,
  textOf,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Resolved } from '../definition.ts'
import { tracedHeaders } from '../sent-requests.ts'
import { type ChannelEvents, idAmong, type ResumeToken, withId } from '../transport/channel.ts'
import { announce, announcedLists, LastingStream } from '../transport/lasting-stream.ts'
import type { Upstream } from '../upstream.ts'
import { NO_EVENTS, type RpcClient } from './rpc-client.ts'
import {
  isRepeatable,
  type RelayOptions,
  type Reply,
  type Restored,
  replyOf,
  type TraceHeaders,
  type UpstreamSession,
  type UpstreamSessionEvents,
} from './upstream-session.ts'

/** A request of the client without a reply. */
interface Sent {
  request: Request
  headers: TraceHeaders
  /** Whether it may be sent again in the session that replaces a lost one. */
  isRepeatable: boolean
  isRepeated: boolean
  settle(answer: Reply | Fault): void
}

const CANCELLED = 'notifications/cancelled'

export interface ChannelSessionOptions {
  upstream: Upstream
  resolved: Resolved
  /** Quota key of the session. */
  quotaKey: string
  /** Requests that restore the state of a lost session; their answers are ignored. */
  restore(): Restored[]
  /** Set if another replica opened the session. */
  resumed?: Resumed
}

/** A session that another replica opened. */
export interface Resumed {
  token: ResumeToken
  /** The token of the session that replaces a lost one; undefined: only the client can open another one. */
  renew(): Promise<ResumeToken | undefined>
}

/**
 * A client's session with a session-based server, over one channel at a time, with the client's ids. If the server dies
 * or forgets the session, the next request opens another one with the same handshake.
 */
export class ChannelSession implements UpstreamSession {
  readonly #options: ChannelSessionOptions
  readonly #events: UpstreamSessionEvents
  readonly #user = String(ownId())
  #client: RpcClient | undefined
  #reopening: Promise<Fault | undefined> | undefined
  #initialize: Request | undefined
  /** Negotiated with the client. */
  #revision: Json | undefined
  /** Whether the current connection has a session. */
  #isOpen = false
  /** Fault of a new session that replaced a lost one. */
  #refusal: Fault | undefined
  readonly #closed = new Cancellation()
  readonly #sent = new InFlight<RequestId, Sent>()
  /** Stream of server-initiated messages over HTTP; a child is restarted only for a request. */
  readonly #stream: LastingStream | undefined
  /** Whether a resumed session has a stream of server-initiated messages. */
  #isListening = false

  constructor(options: ChannelSessionOptions, events: UpstreamSessionEvents) {
    this.#options = options
    this.#events = events
    const { resumed } = options
    const { definition, streams } = options.upstream
    if (definition.transport.messages !== 'lines' && !resumed)
      this.#stream = new LastingStream(streams, this.#closed)
    // Without a connection, the first request tries again.
    if (resumed) this.#connect(resumed.token)
  }

  resume(): ResumeToken | undefined {
    return this.#client?.resume
  }

  listen(): void {
    this.#isListening = true
    this.#client?.listen()
  }

  start(request: Request): Promise<Reply | Fault> {
    this.#initialize = request
    return this.#open(request)
  }

  request(request: Request, { trace, onReply }: RelayOptions = {}): Promise<Reply | Fault> {
    const { id, method } = request
    const operation = this.#options.upstream.operations.begin(request)
    return new Promise((resolve) => {
      const sent: Sent = {
        request: operation.traced(request),
        headers: tracedHeaders(trace, operation.trace),
        isRepeatable: isRepeatable(method),
        isRepeated: false,
        settle: (answer) => {
          this.#sent.delete(id)
          operation.settled(answer instanceof Fault ? answer : answer.raw)
          onReply?.()
          resolve(answer)
        },
      }
      this.#sent.set(id, sent)
      if (this.#client && !this.#reopening) this.#forward(sent)
      else if (this.#closed.aborted || !(this.#initialize || this.#options.resumed))
        sent.settle(this.#ended())
      else this.#sendAgain([sent]).catch(unexpected(method))
    })
  }

  notify(message: Message): void {
    const isCancellation = message.kind === 'notification' && message.method === CANCELLED
    if (isCancellation) this.#sent.get(requestIdOf(message) as RequestId)?.settle(CANCELLATION)
    if (this.#reopening) {
      this.#reopening.then(() => this.#client?.forward(message)).catch(unexpected('a notification'))
      return
    }
    // Without a connection it is dropped, as it makes sense only in the lost session.
    this.#client?.forward(message)
    if (isCancellation) this.#client?.check()
  }

  close(keep = false): void {
    this.#closed.abort()
    this.#settleAll(this.#ended())
    if (keep) this.#client?.detach()
    this.#client?.close()
    this.#client = undefined
  }

  /** Ends the session, but keeps its connection for a probe. */
  release(): RpcClient | undefined {
    const client = this.#client
    if (client) client.events = NO_EVENTS
    this.#client = undefined
    this.#closed.abort()
    return client
  }

  #forward(sent: Sent): void {
    const fault = this.#client ? this.#client.forward(sent.request, sent.headers) : this.#ended()
    if (fault) sent.settle(fault)
  }

  #settleAll(fault: Fault): void {
    for (const sent of this.#sent.values()) sent.settle(fault)
  }

  /** Connects to the server; the session is opened by `initialize`, or continues with a token. */
  #connect(resume?: ResumeToken): RpcClient | Fault {
    const { upstream, resolved, quotaKey } = this.#options
    const events: ChannelEvents = {
      message: (message) => this.#take(message),
      rejected: (id, fault) => this.#reject(id, fault),
      closed: (fault) => this.#lose(fault),
      silent: () => this.#events.silent?.(),
    }
    const client = upstream.connect(resolved, events, { quotaKey, resume, user: this.#user })
    this.#isOpen = resume !== undefined
    if (!(client instanceof Fault)) this.#client = client
    return client
  }

  #take(message: Message): void {
    if (message.kind !== 'response') {
      this.#events.message(message)
      return
    }
    const id = idAmong(message.id, (one) => this.#sent.has(one))
    if (id === undefined) return
    const shown = withId(message, id)
    this.#sent.get(id)?.settle({ raw: shown.raw, text: textOf(shown) })
  }

  /** @param id undefined: it may answer any request */
  #reject(id: RequestId | undefined, fault: Fault): void {
    const sent = id === undefined ? undefined : this.#sent.get(id)
    // The session is lost, and the request will be sent again in a new one.
    if (sent && fault.isUnexecuted && !sent.isRepeated) sent.isRepeatable = true
    else if (id === undefined) this.#settleAll(fault)
    else sent?.settle(fault)
  }

  /** The connection was lost. 404 means that the server forgot the session (2025-11-25, Session Management). */
  #lose(fault: Fault): void {
    this.#client = undefined
    if (!this.#isOpen) return
    const mayRepeat = (sent: Sent) => fault.status === 404 && sent.isRepeatable && !sent.isRepeated
    const again = this.#sent.values().filter(mayRepeat)
    const reason = `${fault.message}; the call was not repeated: call again`
    for (const sent of this.#sent.values()) if (!again.includes(sent)) sent.settle(new Fault('lost', reason))
    this.#events.lost()
    if (this.#stream) this.#events.silent?.()
    for (const sent of again) sent.isRepeated = true
    if (again.length) this.#sendAgain(again).catch(unexpected('a request that is repeated'))
    if (!this.#options.resumed) this.#regain(fault).catch(unexpected('a lost session'))
    // Its client waits for messages that will not come.
    else if (this.#isListening) this.#events.refused()
  }

  async #open({ id, params }: Request): Promise<Reply | Fault> {
    const { upstream, resolved } = this.#options
    const { definition } = upstream
    const client = this.#connect()
    if (client instanceof Fault) return client
    const onMessage = (raw: JsonObject) => this.#events.message(readMessage(raw))
    const options = { timeout: definition.server.startupTimeout, onMessage }
    const answer = await client.request('initialize', params, options).answer
    this.#isOpen = true
    if (answer instanceof Fault) {
      if (this.#closed.aborted) return this.#ended()
      upstream.startFailed(resolved.key, answer)
      client.close()
      this.#client = undefined
      return answer
    }
    upstream.started(resolved.key)
    const result = isObject(answer.result) ? withRevision(answer.result) : undefined
    this.#revision ??= result?.protocolVersion
    return replyOf({ ...answer, id, ...(result && { result }) })
  }

  /** Reopens a lost session, once for all concurrent requests. */
  #reopen(): Promise<Fault | undefined> {
    const { resumed } = this.#options
    const open = () => (resumed ? this.#renew(resumed) : this.#initializeAgain(this.#initialize as Request))
    this.#reopening ??= open().finally(() => {
      this.#reopening = undefined
    })
    return this.#reopening
  }

  /** Continues the session that the replica with the handshake has opened in place of a lost one. */
  async #renew({ renew }: Resumed): Promise<Fault | undefined> {
    const token = await renew()
    if (this.#closed.aborted) return this.#ended()
    if (!token) {
      this.#events.refused()
      return this.#ended()
    }
    const client = this.#connect(token)
    return client instanceof Fault ? client : undefined
  }

  async #initializeAgain(initialize: Request): Promise<Fault | undefined> {
    const answer = await this.#open(initialize)
    if (answer instanceof Fault) return answer
    const { result } = answer.raw
    // The revision cannot change within a session.
    if (!isObject(result) || result.protocolVersion !== this.#revision) {
      this.#client?.close()
      this.#client = undefined
      const { name } = this.#options.upstream
      this.#refusal = new Fault('lost', `The server ${name} was restarted, but refused the handshake`)
      return this.#refusal
    }
    const client = this.#client
    client?.forward(ownNotification('notifications/initialized'))
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

  /** Sends requests once the session is open again. */
  async #sendAgain(requests: readonly Sent[]): Promise<void> {
    const fault = await this.#reopen()
    // Some may have been cancelled meanwhile.
    for (const sent of requests.filter(({ request }) => this.#sent.has(request.id)))
      if (fault) sent.settle(fault)
      else this.#forward(sent)
  }

  /** Reopens a lost session without a request, as the client may wait for server-initiated messages. */
  async #regain(why: Fault): Promise<void> {
    let fault: Fault | undefined = why
    while (fault && (await this.#stream?.lost(fault.message))) {
      // A client request has already reopened it.
      if ((this.#client && !this.#reopening) || !this.#initialize) return
      fault = await this.#reopen()
      if (fault && fault === this.#refusal) return this.#events.refused()
    }
  }

  #ended(): Fault {
    return new Fault('lost', `The session with the server ${this.#options.upstream.name} has ended`)
  }
}

/** A server whose revision is missing, or none that the gateway speaks, gets no more than the oldest one has. */
function withRevision(result: JsonObject): JsonObject {
  return isSessionRevision(result.protocolVersion)
    ? result
    : { ...result, protocolVersion: FIRST_SSE_REVISION }
}
