/** MCP clients in memory: each knows what it is owed, and what must never reach it. */
import { clock } from './clock.ts'
import { Exchange, type Host, type Latency, Socket } from './network.ts'
import { type Json, type Script, uriOf } from './servers.ts'

export type ClientKind = 'session' | 'stateless' | 'sse'
export const CLIENT_KINDS: readonly ClientKind[] = ['session', 'stateless', 'sse']

const ACCEPT = 'application/json, text/event-stream'
const META = 'io.modelcontextprotocol/'
const SUBSCRIPTION = `${META}subscriptionId`
const SESSION = '2025-11-25'
const STATELESS = '2026-07-28'
const CAPABILITIES = { elicitation: { form: {} } }
/** Milliseconds until a client that lost a connection opens it again. */
const AGAIN = 500
const INITIALIZED = { jsonrpc: '2.0', method: 'notifications/initialized' }
/** Everything of a script, and of a resource, names the client that wrote it. */
const MARKS = /(?:"|state of |sim:\/\/)(c\d+)(?=[."])/g

/** A request that a client has sent. */
interface Owed {
  mark: string
  answers: number
  /** Why no answer is owed any more. */
  excuse?: string
}

export interface ClientOptions {
  /** Names it in everything that it sends: `c0`. */
  name: string
  prefix: string
  token: string | undefined
  /** Whether it keeps an event stream open, and wants to hear of changes. */
  listens: boolean
  /** Whether it answers what it is asked. */
  answers: boolean
  /** The name of the tool for a script. */
  tool(script: Script): string
  latency: Latency
  /** The host to which the next request goes; undefined: there is none. */
  host(): Host | undefined
  violated(what: string): void
  note(what: string): void
}

/** How a request ended for its client. */
export type Outcome = { result: Json } | { error: Json } | 'unanswered'

interface Sent {
  message?: Json
  method?: string
  headers?: Record<string, string>
  path?: string
}

interface Taker {
  head?(status: number, headers: Record<string, string>): void
  /** Takes a message, and the id of its event. */
  message?(message: Json, id: string | undefined): void
  /** @param whole whether the connection ended as it should */
  over?(whole: boolean, status: number, id: string | undefined): void
  event?(name: string, data: string): void
}

export abstract class Client {
  readonly owed = new Map<Json, Owed>()
  /** Changes of lists that it was told of. */
  heard = 0
  private readonly waiting = new Map<Json, (outcome: Outcome) => void>()
  /** Its requests under way, with what ends them for it. */
  private readonly open = new Map<Exchange, () => void>()
  private sockets = new Map<Host, Socket>()
  private count = 0

  constructor(protected readonly options: ClientOptions) {}

  /** Whether it can be called by. */
  abstract get isConnected(): boolean
  /** Whether it hears of changes at the moment. */
  abstract get isListening(): boolean
  /** Opens what it needs; resolves with whether that went well. */
  abstract connect(): Promise<boolean>
  /** Opens the streams again that it wants. */
  abstract listen(): void
  abstract subscribe(): void
  abstract cancel(): void
  /** Ends its session, and all else. */
  abstract leave(): void
  protected abstract send(message: Json, extra?: object): void

  get name(): string {
    return this.options.name
  }
  get listens(): boolean {
    return this.options.listens
  }

  /** Sends a request; resolves when it is answered, or will never be. */
  request(method: string, params: Json = {}, mark = ''): Promise<Outcome> {
    const id = this.nextId()
    this.owed.set(id, { mark, answers: 0 })
    const outcome = new Promise<Outcome>((resolve) => this.waiting.set(id, resolve))
    this.send({ jsonrpc: '2.0', id, method, params })
    return outcome
  }

  call(script: Script): Promise<Outcome> {
    this.options.note(`${this.name} calls ${JSON.stringify(script)}`)
    const _meta = script.progress ? { progressToken: `token of ${script.mark}` } : {}
    const params = { name: this.options.tool(script), arguments: script, _meta }
    return this.request('tools/call', params, script.mark)
  }

  /** Its connections break; it comes back for what it can. */
  disconnect(): void {
    for (const [exchange, over] of [...this.open]) {
      exchange.abort()
      over()
    }
    for (const socket of this.sockets.values()) socket.destroy()
    this.sockets.clear()
  }

  /** Ends one of its requests. */
  protected drop(exchange: Exchange | undefined): void {
    exchange?.abort()
    if (exchange) this.open.delete(exchange)
  }

  /** What it is owed after everything has come to rest. */
  unanswered(): string[] {
    return [...this.owed].flatMap(([id, { mark, answers, excuse }]) =>
      answers || excuse !== undefined ? [] : [`${this.name} has no answer to request ${id} ${mark}`],
    )
  }

  protected nextId(): number {
    return ++this.count
  }

  protected openIds(): Json[] {
    return [...this.waiting.keys()]
  }

  /** No answer is owed to a request any more, if it has none. */
  protected excuse(why: string, id: Json): void {
    const owed = this.owed.get(id)
    if (!owed || owed.answers) return
    owed.excuse ??= why
    this.settle(id, 'unanswered')
  }

  protected settle(id: Json, outcome: Outcome): void {
    this.waiting.get(id)?.(outcome)
    this.waiting.delete(id)
  }

  /** Takes a message of the gateway, whatever brought it. */
  protected take(message: Json): void {
    const { violated, note } = this.options
    const text = JSON.stringify(message)
    note(`${this.name} gets ${text}`)
    for (const [, whose] of text.matchAll(MARKS))
      if (whose !== this.name) violated(`${this.name} got a message for ${whose}: ${text}`)
    const { id, method, params } = message
    if (method === undefined) this.takeAnswer(message)
    else if (id !== undefined) this.takeQuestion(message)
    else if (method.endsWith('/list_changed')) this.heard++
    else if (method === 'notifications/progress' && params.progressToken !== `token of ${params.message}`)
      violated(`${this.name} got progress under a foreign token: ${text}`)
  }

  private takeAnswer({ id, result, error }: Json): void {
    const { violated } = this.options
    if (id === null && error) return
    const owed = this.owed.get(id)
    if (!owed) {
      violated(`${this.name} got an answer to ${id}, for which it never asked`)
      return
    }
    if (++owed.answers > 1) violated(`${this.name} got ${owed.answers} answers to ${id} ${owed.mark}`)
    const said = result?.content?.[0]?.text
    if (said !== undefined && said !== owed.mark) violated(`${this.name} got ${said} for ${owed.mark}`)
    this.settle(id, error ? { error } : { result })
  }

  private takeQuestion({ id, method, params }: Json): void {
    const result = method === 'ping' ? {} : { action: 'accept', content: { said: params.message } }
    if (!this.options.answers) this.leaveOpen(params.message)
    else
      clock.after(this.options.latency(), () => this.isConnected && this.send({ jsonrpc: '2.0', id, result }))
  }

  /** Gives no input to a call, which waits for it. */
  private leaveOpen(mark: string): void {
    for (const [id, owed] of this.owed) if (owed.mark === mark) this.excuse('its user gave no input', id)
  }

  /** Sends one HTTP request and reads its response; undefined when nobody is there. */
  protected http(
    { message, method = 'POST', headers = {}, path = '/mcp' }: Sent,
    taker: Taker,
  ): Exchange | undefined {
    const { prefix, token } = this.options
    const host = this.options.host()
    if (!host) {
      taker.over?.(false, 0, undefined)
      return undefined
    }
    const sent = {
      accept: ACCEPT,
      ...(message !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    }
    const body = message === undefined ? '' : JSON.stringify(message)
    let [status, isStream, rest] = [0, false, '']
    let eventId: string | undefined
    const over = (whole: boolean) => {
      this.open.delete(exchange)
      if (whole && !isStream && rest.startsWith('{')) this.read(rest, taker, undefined)
      taker.over?.(whole, status, eventId)
    }
    const exchange = new Exchange(
      host,
      { method, path: prefix + path, headers: sent, body },
      this.socketOf(host),
      {
        head: (given, returned) => {
          status = given
          isStream = returned['content-type'] === 'text/event-stream'
          taker.head?.(status, returned)
        },
        data: (text) => {
          rest += text
          if (!isStream) return
          const events = rest.split('\n\n')
          rest = events.pop() as string
          for (const event of events) {
            const { id, name, data } = readEvent(event)
            eventId = id ?? eventId
            if (name === 'message' && data) this.read(data, taker, id)
            else if (data) taker.event?.(name, data)
          }
        },
        end: () => over(true),
        error: () => over(false),
      },
    )
    this.open.set(exchange, () => over(false))
    return exchange
  }

  private read(text: string, taker: Taker, id: string | undefined): void {
    const message = JSON.parse(text)
    // Of a path at which nothing is served.
    if (message.jsonrpc === undefined) return
    taker.message?.(message, id)
    this.take(message)
  }

  /** A client keeps one connection to each host, as far as the gateway can tell. */
  private socketOf(host: Host): Socket {
    const known = this.sockets.get(host)
    if (known && !known.destroyed) return known
    const socket = new Socket('10.0.0.2')
    this.sockets.set(host, socket)
    return socket
  }
}

/** Whether a notification may not have arrived. Without `initialized` a server sends nothing by itself, so it is sent again. */
function isLost(whole: boolean, status: number): boolean {
  return !whole || status > 500
}

function readEvent(text: string): { id: string | undefined; name: string; data: string } {
  let id: string | undefined
  let [name, data] = ['message', '']
  for (const line of text.split('\n')) {
    if (line.startsWith('id: ')) id = line.slice(4)
    if (line.startsWith('event: ')) name = line.slice(7)
    if (line.startsWith('data: ')) data += line.slice(6)
  }
  return { id, name, data }
}

/** An event stream that a client wants to keep. */
interface Stream {
  /** Of the last event, or of the subscription. */
  id: Json
  exchange: Exchange | undefined
  isOpen: boolean
}

/** A client of 2025-11-25 over streamable HTTP. */
export class SessionClient extends Client {
  private session: string | undefined
  private stream: Stream | undefined
  private connecting: Promise<boolean> | undefined

  get isConnected(): boolean {
    return this.session !== undefined
  }

  get isListening(): boolean {
    return this.stream?.isOpen === true
  }

  connect(): Promise<boolean> {
    if (this.session !== undefined) return Promise.resolve(true)
    this.connecting ??= this.initialize().finally(() => {
      this.connecting = undefined
    })
    return this.connecting
  }

  listen(): void {
    const { session } = this
    if (session === undefined || this.stream || !this.options.listens) return
    const stream: Stream = { id: undefined, exchange: undefined, isOpen: false }
    this.stream = stream
    this.openStream(session, stream)
  }

  subscribe(): void {
    if (this.isConnected) this.request('resources/subscribe', { uri: uriOf(`${this.name}.`) }).catch(() => {})
  }

  cancel(): void {
    const requestId = this.openIds().at(-1)
    if (requestId === undefined || !this.isConnected) return
    this.excuse('cancelled', requestId)
    this.options.note(`${this.name} cancels ${requestId}`)
    this.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
  }

  leave(): void {
    const { session } = this
    if (session === undefined) return
    this.lose('its client left')
    this.http({ method: 'DELETE', headers: headersOf(session) }, {})
  }

  protected send(message: Json): void {
    const { session } = this
    const { id, method } = message
    const isRequest = method !== undefined && id !== undefined
    if (session === undefined) {
      this.excuse('no session', id)
      return
    }
    const over = (whole: boolean, status: number, eventId: string | undefined) => {
      if (status === 404 && this.session === session) this.lose('the session had ended')
      if (message === INITIALIZED && isLost(whole, status))
        clock.after(AGAIN, () => this.session === session && this.send(message))
      if (!isRequest || this.owed.get(id)!.answers || this.owed.get(id)!.excuse !== undefined) return
      if (eventId !== undefined) this.resume(session, id, eventId)
      else if (!whole) this.excuse('its connection broke', id)
      else if (status >= 400) this.excuse(`it was refused with ${status}`, id)
    }
    this.http({ message, headers: headersOf(session) }, { over })
  }

  /** Comes back for an answer. */
  private resume(session: string, id: Json, lastEventId: string): void {
    const again = () => {
      const { answers, excuse } = this.owed.get(id)!
      if (answers || excuse !== undefined) return
      if (this.session !== session) return this.excuse('its session had ended', id)
      const headers = { ...headersOf(session), 'last-event-id': lastEventId }
      this.options.note(`${this.name} comes back for ${id}`)
      const over = (_whole: boolean, status: number, eventId: string | undefined) => {
        if (status === 404 && this.session === session) this.lose('the session had ended')
        this.resume(session, id, eventId ?? lastEventId)
      }
      this.http({ method: 'GET', headers }, { over })
    }
    clock.after(AGAIN, again)
  }

  private async initialize(): Promise<boolean> {
    const id = this.nextId()
    this.owed.set(id, { mark: 'initialize', answers: 0 })
    const params = {
      protocolVersion: SESSION,
      capabilities: CAPABILITIES,
      clientInfo: { name: this.name, version: '1' },
    }
    let session: string | undefined
    let isOpen = false
    const whole = await new Promise<boolean>((resolve) =>
      this.http(
        { message: { jsonrpc: '2.0', id, method: 'initialize', params } },
        {
          head: (_status, headers) => {
            session = headers['mcp-session-id']
          },
          message: ({ result }) => {
            isOpen = result !== undefined
          },
          over: resolve,
        },
      ),
    )
    this.excuse(whole ? 'it was refused' : 'its connection broke', id)
    if (!isOpen || session === undefined) return false
    this.session = session
    this.send(INITIALIZED)
    this.listen()
    return true
  }

  private openStream(session: string, stream: Stream): void {
    const { id } = stream
    const headers = { ...headersOf(session), ...(id !== undefined && { 'last-event-id': id }) }
    stream.exchange = this.http(
      { method: 'GET', headers },
      {
        head: (status) => {
          stream.isOpen = status === 200
        },
        over: (_whole, status, eventId) => {
          stream.isOpen = false
          stream.id = eventId ?? stream.id
          if (this.stream !== stream || this.session !== session) return
          if (status === 404) return this.lose('the session had ended')
          clock.after(AGAIN, () => {
            if (this.stream === stream && this.session === session) this.openStream(session, stream)
          })
        },
      },
    )
  }

  /** The session is no more; calls whose connection is open are owed an answer yet. */
  private lose(why: string): void {
    this.options.note(`${this.name} has no session: ${why}`)
    this.session = undefined
    this.drop(this.stream?.exchange)
    this.stream = undefined
  }
}

function headersOf(session: string): Record<string, string> {
  return { 'mcp-session-id': session, 'mcp-protocol-version': SESSION }
}

/** A client of 2026-07-28. */
export class StatelessClient extends Client {
  private readonly calls = new Map<Json, Exchange>()
  private subscription: Stream | undefined
  readonly isConnected = true

  get isListening(): boolean {
    return this.subscription?.isOpen === true
  }

  connect(): Promise<boolean> {
    this.listen()
    return Promise.resolve(true)
  }

  listen(): void {
    if (!this.options.listens || this.subscription) return
    const id = this.nextId()
    const subscription: Stream = { id, exchange: undefined, isOpen: false }
    this.subscription = subscription
    this.owed.set(id, { mark: 'listen', answers: 0, excuse: 'a subscription has no end' })
    const notifications = { toolsListChanged: true, resourceSubscriptions: [uriOf(`${this.name}.`)] }
    const message = requestOf({ id, method: 'subscriptions/listen', params: { notifications } })
    subscription.exchange = this.http(
      { message, headers: mirrored(message) },
      {
        message: ({ method, params, result }) => {
          if (method === 'notifications/subscriptions/acknowledged') subscription.isOpen = true
          const tag = (params ?? result)?._meta?.[SUBSCRIPTION]
          if ((params || result) && tag !== id)
            this.options.violated(`${this.name} got a message of subscription ${tag} on ${id}`)
        },
        over: () => {
          if (this.subscription !== subscription) return
          this.subscription = undefined
          clock.after(AGAIN, () => this.listen())
        },
      },
    )
  }

  /** What it subscribes to is part of its stream. */
  subscribe(): void {
    this.listen()
  }

  cancel(): void {
    const [id, exchange] = [...this.calls].at(-1) ?? []
    if (id === undefined) return
    this.options.note(`${this.name} cancels ${id}`)
    this.excuse('cancelled', id)
    this.drop(exchange)
    this.calls.delete(id)
  }

  leave(): void {
    this.subscription = undefined
    this.disconnect()
  }

  protected send(message: Json): void {
    const { id } = message
    const full = requestOf(message)
    const exchange = this.http(
      { message: full, headers: mirrored(full) },
      {
        message: ({ id: answered, result }) => {
          if (answered === id && result?.resultType === 'input_required') this.goOn(message, result)
        },
        over: (whole, status) => {
          this.calls.delete(id)
          if (!whole) this.excuse('its connection broke', id)
          else if (status >= 400) this.excuse(`it was refused with ${status}`, id)
        },
      },
    )
    if (exchange) this.calls.set(id, exchange)
  }

  /** Gives the input that a call requires. */
  private goOn({ method, params }: Json, { inputRequests, requestState }: Json): void {
    const { answers, latency, violated } = this.options
    const { mark } = params.arguments
    const inputResponses: Json = {}
    for (const [key, request] of Object.entries<Json>(inputRequests)) {
      const said = request.params.message
      if (said !== mark) violated(`${mark} was asked for the input of ${said}`)
      inputResponses[key] = { action: 'accept', content: { said } }
    }
    if (!answers) return
    const again = () => this.request(method, { ...params, inputResponses, requestState }, mark)
    clock.after(latency(), again)
  }
}

function requestOf({ id, method, params }: Json): Json {
  const _meta = {
    ...params._meta,
    [`${META}protocolVersion`]: STATELESS,
    [`${META}clientCapabilities`]: CAPABILITIES,
    [`${META}logLevel`]: 'debug',
  }
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta } }
}

function mirrored({ method, params }: Json): Record<string, string> {
  const name = method === 'tools/call' && { 'mcp-name': params.name }
  return { 'mcp-protocol-version': STATELESS, 'mcp-method': method, ...name }
}

/** A client of the transport of 2024-11-05. */
export class SseClient extends Client {
  private path: string | undefined
  private stream: Exchange | undefined
  private ready = false

  get isConnected(): boolean {
    return this.ready
  }

  get isListening(): boolean {
    return this.ready
  }

  connect(): Promise<boolean> {
    if (this.ready) return Promise.resolve(true)
    this.leave()
    return new Promise((resolve) => {
      const stream = this.http(
        { method: 'GET', path: '/sse', headers: { accept: 'text/event-stream' } },
        {
          event: (_name, data) => {
            this.path = data.slice(this.options.prefix.length)
            this.initialize().then(resolve)
          },
          over: () => {
            resolve(false)
            if (this.stream === stream) this.lose()
          },
        },
      )
      this.stream = stream
    })
  }

  listen(): void {}

  subscribe(): void {
    if (this.ready) this.request('resources/subscribe', { uri: uriOf(`${this.name}.`) }).catch(() => {})
  }

  cancel(): void {
    const requestId = this.openIds().at(-1)
    if (requestId === undefined || !this.ready) return
    this.options.note(`${this.name} cancels ${requestId}`)
    this.excuse('cancelled', requestId)
    this.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
  }

  leave(): void {
    const { stream } = this
    this.lose()
    this.drop(stream)
  }

  protected send(message: Json): void {
    const { id, method } = message
    const { path } = this
    if (path === undefined) {
      this.excuse('no session', id)
      return
    }
    const over = (whole: boolean, status: number) => {
      if (message === INITIALIZED && isLost(whole, status))
        clock.after(AGAIN, () => this.path === path && this.send(message))
      if (method === undefined || id === undefined || status === 202) return
      this.excuse(whole ? `it was refused with ${status}` : 'its connection broke', id)
    }
    this.http({ message, path }, { over })
  }

  private async initialize(): Promise<boolean> {
    const params = {
      protocolVersion: '2024-11-05',
      capabilities: CAPABILITIES,
      clientInfo: { name: this.name, version: '1' },
    }
    const outcome = await this.request('initialize', params, 'initialize')
    if (outcome === 'unanswered' || 'error' in outcome) return false
    this.ready = true
    this.send(INITIALIZED)
    return true
  }

  private lose(): void {
    this.stream = undefined
    this.path = undefined
    this.ready = false
    for (const id of this.openIds()) this.excuse('its stream has ended', id)
  }
}

export function createClient(kind: ClientKind, options: ClientOptions): Client {
  if (kind === 'session') return new SessionClient(options)
  return kind === 'sse' ? new SseClient(options) : new StatelessClient(options)
}
