/** MCP servers in memory, behind the transports that the gateway has: they do what the arguments of a call say. */
import { clock } from './clock.ts'
import { Child, type Exchange, Host, type Latency } from './network.ts'

// biome-ignore lint/suspicious/noExplicitAny: messages of JSON-RPC, of which the simulation has written both sides
export type Json = any

export type ServerKind = 'stdio' | 'modern-stdio' | 'http' | 'modern-http' | 'sse'
export const SERVER_KINDS: readonly ServerKind[] = ['stdio', 'modern-stdio', 'http', 'modern-http', 'sse']

/** What a call has its server do, in this order. */
export interface Script {
  /** Names the call, and whose it is. */
  mark: string
  /** Milliseconds before and after what follows. */
  delay: number
  progress: boolean
  log: boolean
  asks: boolean
  /** Tells all clients of the server that its tools changed, and the caller that its resource did. */
  notifies: boolean
  end: 'answer' | 'never' | 'crash'
}

const META = 'io.modelcontextprotocol/'
const SUBSCRIPTION = `${META}subscriptionId`
const NEWEST = '2025-11-25'
const STATELESS = '2026-07-28'
const TOOLS = [{ name: 'act', inputSchema: { type: 'object' } }]
const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
}
/** Methods that only servers of one era have. */
const ERAS = new Map([
  ['initialize', 'session'],
  ['resources/subscribe', 'session'],
  ['resources/unsubscribe', 'session'],
  ['logging/setLevel', 'session'],
  ['server/discover', 'modern'],
  ['subscriptions/listen', 'modern'],
])
const METHODS = new Set([...ERAS.keys(), 'ping', 'tools/list', 'tools/call'])
const EVENTS = { 'content-type': 'text/event-stream' }
const JSON_TYPE = { 'content-type': 'application/json' }

const pause = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))
const event = (message: Json, name = 'message') =>
  `event: ${name}\ndata: ${typeof message === 'string' ? message : JSON.stringify(message)}\n\n`

/** One client of a server: a session, or in 2026-07-28 whoever has sent a request. */
interface Client {
  /** @param about the request for which it is sent */
  send(message: Json, about?: Json): void
  /** Whether the server knows it no more. */
  gone: boolean
  initialized: boolean
  readonly running: Set<Json>
  readonly asked: Map<string, (answer: Json) => void>
  readonly subscribed: Set<string>
  readonly listens: Map<Json, Json>
}

export interface ServerOptions {
  kind: ServerKind
  /** Reports what a server must never see. */
  violated(what: string): void
  /** Hears what the server does, for the history. */
  note(what: string): void
  latency: Latency
}

/** One server program with its transport. */
export class Server {
  readonly host: Host
  readonly isModern: boolean
  readonly clients = new Set<Client>()
  /** How often each call was carried out. */
  readonly carriedOut = new Map<string, number>()
  /** Sends each answer so many times. */
  copies = 1
  private readonly sessions = new Map<string, HttpSession>()
  private readonly children = new Map<Child, Client>()
  private questions = 0
  private count = 0
  /** No call has it crash any more. */
  isSound = false

  constructor(private readonly options: ServerOptions) {
    const { kind, latency } = options
    this.isModern = kind.startsWith('modern')
    const serve = { http: this.serveHttp, 'modern-http': this.serveModern, sse: this.serveSse }
    const serving = kind in serve ? serve[kind as keyof typeof serve] : () => {}
    this.host = new Host(`http://${kind}.test`, latency, (exchange) => serving.call(this, exchange))
  }

  /** Starts a child that is the server. */
  spawn(): Child {
    this.options.note('starts')
    const client = newClient((message) => child.say(JSON.stringify(message)))
    const end = () => {
      this.options.note('has ended')
      client.gone = true
      this.clients.delete(client)
      this.children.delete(child)
    }
    const child = new Child(
      this.host,
      (line) => this.take(client, JSON.parse(line)),
      () => clock.after(this.options.latency(), () => child.exit(0)),
    )
    child.on('exit', end)
    this.clients.add(client)
    this.children.set(child, client)
    if (!this.host.isUp) clock.after(this.options.latency(), () => child.exit(1))
    return child
  }

  /** All of it ends at once, and forgets everything. */
  crash(): void {
    this.options.note('crashes')
    this.forget()
    this.host.cut()
    for (const child of [...this.children.keys()]) child.exit(null, 'SIGKILL')
  }

  stop(): void {
    this.crash()
    this.host.isUp = false
  }

  come(): void {
    this.host.isUp = true
    this.host.thaw()
  }

  /** Takes everything, and says nothing any more. */
  hang(): void {
    this.host.freeze()
  }

  /** Sessions over HTTP are unknown from now on. */
  forget(): void {
    for (const session of [...this.sessions.values()]) {
      session.stream?.end()
      this.end(session)
    }
  }

  /** Whether a call waits for what a user says. */
  get isAsking(): boolean {
    return [...this.clients].some(({ gone, asked }) => !gone && asked.size > 0)
  }

  /** Event streams end, as a load balancer ends them. */
  cutStreams(cleanly: boolean): void {
    if (!cleanly) this.host.cut(({ answered }) => answered)
    else for (const session of [...this.sessions.values()]) if (session.stream) this.endStream(session)
  }

  /** Tells all clients that the tools changed. */
  changed(): void {
    this.options.note(`tells ${this.clients.size} clients of a change`)
    const method = 'notifications/tools/list_changed'
    for (const client of this.clients) {
      if (!this.isModern && client.initialized) client.send({ method })
      for (const [id, wanted] of client.listens)
        if (wanted.toolsListChanged) client.send({ method, params: { _meta: { [SUBSCRIPTION]: id } } }, id)
    }
  }

  private endStream(session: HttpSession): void {
    session.stream?.end()
    session.stream = undefined
    // Of the older transport the stream is the session.
    if (this.options.kind === 'sse') this.end(session)
  }

  private end({ id, client }: HttpSession): void {
    client.gone = true
    this.clients.delete(client)
    this.sessions.delete(id)
  }

  private updated(uri: string): void {
    const method = 'notifications/resources/updated'
    for (const client of this.clients) {
      if (client.subscribed.has(uri)) client.send({ method, params: { uri } })
      for (const [id, wanted] of client.listens)
        if (wanted.resourceSubscriptions?.includes(uri))
          client.send({ method, params: { uri, _meta: { [SUBSCRIPTION]: id } } }, id)
    }
  }

  private take(client: Client, message: Json): void {
    if (client.gone) return
    const { id, method, params = {} } = message
    // The gateway counts its own ids over all histories of the process.
    const shown = typeof id === 'number' && id >= 1_000_000_000 ? 'own' : (id ?? '')
    this.options.note(`takes ${method ?? 'the answer to'} ${shown} ${params.arguments?.mark ?? ''}`)
    if (method === undefined) {
      client.asked.get(String(id))?.(message)
      client.asked.delete(String(id))
    } else if (id === undefined) {
      if (method === 'notifications/initialized') client.initialized = true
      if (method === 'notifications/cancelled') {
        client.running.delete(params.requestId)
        client.listens.delete(params.requestId)
      }
    } else this.answer(client, id, method, params)
  }

  private answer(client: Client, id: Json, method: string, params: Json): void {
    const result = (value: Json) => {
      const modern = this.isModern && { resultType: 'complete' }
      for (let copy = 0; copy < this.copies; copy++) client.send({ id, result: { ...modern, ...value } }, id)
    }
    const error = this.refusalOf(method, params)
    if (error) client.send({ id, error }, id)
    else if (method === 'subscriptions/listen') this.listen(client, id, params)
    else if (method !== 'tools/call') result(this.resultOf(client, method, params))
    else {
      client.running.add(id)
      this.act(client, id, params, result)
        .catch((error) => this.options.violated(`the server fell: ${error.stack}`))
        .finally(() => client.running.delete(id))
    }
  }

  private refusalOf(method: string, params: Json): Json {
    if (this.isModern && params._meta?.[`${META}protocolVersion`] !== STATELESS)
      return { code: -32022, message: 'Unsupported' }
    const isOfEra = !ERAS.has(method) || ERAS.get(method) === (this.isModern ? 'modern' : 'session')
    return METHODS.has(method) && isOfEra ? undefined : { code: -32601, message: 'Method not found' }
  }

  private resultOf({ subscribed }: Client, method: string, params: Json): Json {
    const serverInfo = { name: this.options.kind, version: '1' }
    if (method === 'initialize') return { protocolVersion: NEWEST, capabilities: CAPABILITIES, serverInfo }
    if (method === 'server/discover') return { supportedVersions: [STATELESS], capabilities: CAPABILITIES }
    if (method === 'tools/list') return { tools: TOOLS }
    if (method === 'resources/subscribe') subscribed.add(params.uri)
    if (method === 'resources/unsubscribe') subscribed.delete(params.uri)
    return {}
  }

  private listen({ listens, send }: Client, id: Json, { notifications }: Json): void {
    listens.set(id, notifications)
    const params = { notifications, _meta: { [SUBSCRIPTION]: id } }
    send({ method: 'notifications/subscriptions/acknowledged', params }, id)
  }

  /** Carries out a script. */
  private async act(client: Client, id: Json, params: Json, result: (value: Json) => void): Promise<void> {
    const script = params.arguments as Script
    const { mark, delay } = script
    const { violated } = this.options
    const { progressToken } = params._meta ?? {}
    const isOver = () => client.gone || !client.running.has(id)
    const repeats = params.requestState !== undefined
    if (!repeats) this.carriedOut.set(mark, (this.carriedOut.get(mark) ?? 0) + 1)
    await pause(delay)
    if (isOver()) return
    if (script.progress && progressToken !== undefined)
      client.send(
        { method: 'notifications/progress', params: { progressToken, progress: 1, message: mark } },
        id,
      )
    // In 2026-07-28 only who names a level is sent any (Logging).
    const isLogged = !this.isModern || params._meta?.[`${META}logLevel`] !== undefined
    if (script.log && isLogged)
      client.send({ method: 'notifications/message', params: { level: 'error', data: mark } }, id)
    const question = { message: mark, requestedSchema: { type: 'object', properties: {} } }
    if (script.asks && this.isModern) {
      const requestState = `state of ${mark}`
      if (!repeats)
        return result({
          resultType: 'input_required',
          inputRequests: { q: { method: 'elicitation/create', params: question } },
          requestState,
        })
      const said = params.inputResponses?.q?.content?.said
      if (params.requestState !== requestState || said !== mark)
        violated(`${mark} came again with ${params.requestState}, and ${said} as answer`)
    } else if (script.asks) {
      const { result: given } = await this.ask(client, id, question)
      if (isOver()) return
      if (given && given.content?.said !== mark) violated(`${mark} was answered ${given.content?.said}`)
    }
    if (script.notifies) {
      this.changed()
      this.updated(uriOf(mark))
    }
    await pause(delay)
    if (isOver() || script.end === 'never') return
    if (script.end === 'crash' && !this.isSound) this.crash()
    else result({ content: [{ type: 'text', text: mark }] })
  }

  private ask(client: Client, about: Json, params: Json): Promise<Json> {
    const id = `q${++this.questions}`
    return new Promise((resolve) => {
      client.asked.set(id, resolve)
      client.send({ id, method: 'elicitation/create', params }, about)
    })
  }

  private serveHttp(exchange: Exchange): void {
    const { method, headers, body } = exchange.message
    const sid = headers['mcp-session-id']
    const session = sid === undefined ? undefined : this.sessions.get(sid)
    const message = method === 'POST' ? JSON.parse(body) : undefined
    if (message?.method === 'initialize') {
      const made = new HttpSession(`s${++this.count}`)
      this.sessions.set(made.id, made)
      this.clients.add(made.client)
      made.posts.set(message.id, new PostReply(exchange, { 'mcp-session-id': made.id }))
      this.take(made.client, message)
    } else if (!session) exchange.answer(sid === undefined ? 400 : 404)
    else if (method === 'GET') session.open(exchange)
    else if (method === 'DELETE') {
      this.end(session)
      session.stream?.end()
      exchange.answer(200)
    } else {
      const isRequest = message.id !== undefined && message.method !== undefined
      if (isRequest) session.posts.set(message.id, new PostReply(exchange))
      else exchange.answer(202)
      this.take(session.client, message)
    }
  }

  private serveModern(exchange: Exchange): void {
    const { method, body } = exchange.message
    const message = method === 'POST' ? JSON.parse(body) : undefined
    if (message?.id === undefined) {
      exchange.answer(message ? 202 : 405)
      return
    }
    const reply = new PostReply(exchange)
    const client = newClient((sent) => reply.send(sent, message.id))
    this.clients.add(client)
    exchange.whenGone(() => {
      client.gone = true
      this.clients.delete(client)
    })
    this.take(client, message)
  }

  private serveSse(exchange: Exchange): void {
    const { method, path, body } = exchange.message
    if (method === 'GET') {
      const session = new HttpSession(`s${++this.count}`)
      this.sessions.set(session.id, session)
      this.clients.add(session.client)
      exchange.whenGone(() => this.end(session))
      exchange.respond(200, EVENTS)
      exchange.write(event(`/message?id=${session.id}`, 'endpoint'))
      session.stream = exchange
      return
    }
    const session = this.sessions.get(path.split('id=')[1] ?? '')
    exchange.answer(session ? 202 : 404)
    if (session) this.take(session.client, JSON.parse(body))
  }

  /** What is left of clients, when there should be none. */
  left(): string[] {
    const { kind } = this.options
    const left = this.host.exchanges.size ? [`${this.host.exchanges.size} exchanges with ${kind}`] : []
    return this.children.size ? [...left, `${this.children.size} children of ${kind}`] : left
  }
}

/** The resource of which the caller of a call may be told that it was updated. */
export function uriOf(mark: string): string {
  return `sim://${mark.split('.')[0]}`
}

function newClient(send: (message: Json, about?: Json) => void): Client {
  return {
    send: (message, about) => send({ jsonrpc: '2.0', ...message }, about),
    gone: false,
    initialized: false,
    running: new Set(),
    asked: new Map(),
    subscribed: new Set(),
    listens: new Map(),
  }
}

/** A session over HTTP: what it is sent goes to the answer of the request that it is about, else to its event stream. */
class HttpSession {
  readonly posts = new Map<Json, PostReply>()
  stream: Exchange | undefined
  readonly client = newClient((message, about) => {
    const post = this.posts.get(about)
    if (post) post.send(message, about)
    else this.stream?.write(event(message))
  })

  constructor(readonly id: string) {}

  open(exchange: Exchange): void {
    this.stream?.end()
    this.stream = exchange
    exchange.whenGone(() => {
      if (this.stream === exchange) this.stream = undefined
    })
    exchange.respond(200, EVENTS)
  }
}

/** The answer to a POST: JSON, or events once there is something before it. */
class PostReply {
  private streams = false

  constructor(
    private readonly exchange: Exchange,
    private readonly headers: Record<string, string> = {},
  ) {}

  send(message: Json, id: Json): void {
    const isAnswer = message.id === id && message.method === undefined
    if (isAnswer && !this.streams) {
      this.exchange.answer(200, { ...JSON_TYPE, ...this.headers }, JSON.stringify(message))
      return
    }
    if (!this.streams) this.exchange.respond(200, { ...EVENTS, ...this.headers })
    this.streams = true
    this.exchange.write(event(message))
    if (isAnswer) this.exchange.end()
  }
}
