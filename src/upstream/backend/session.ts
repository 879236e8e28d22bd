import type { HttpResponse } from '../../access/http-response.ts'
import type { Ticket } from '../../cluster/index.ts'
import { stringify } from '../../json/index.ts'
import {
  type Answer,
  asChecked,
  type Backend,
  type BackendSession,
  CANCELLATION,
  CANCELLED,
  type Call,
  type ClientSession,
  errorAnswer,
  Fault,
  faultAnswer,
  isObject,
  isSessionRevision,
  type Message,
  type Opened,
  ownRequest,
  type Replicas,
  type Request,
  type RequestContext,
  textOf,
} from '../../mcp/index.ts'
import type { ToolsBackend } from '../../tools/backend.ts'
import { AggregateSession } from '../aggregate/session.ts'
import type { Resolved } from '../definition.ts'
import type { Occupant } from '../pool/pool.ts'
import type { Resumed } from '../rpc/channel-session.ts'
import {
  completeHandshake,
  createLasting,
  type Reply,
  type Restored,
  restoreIn,
  setsState,
  type UpstreamSession,
  type UpstreamSessionEvents,
} from '../rpc/upstream-session.ts'
import { endOf, exchangeOf, traceIn } from '../sent-requests.ts'
import type { ResumeToken } from '../transport/channel.ts'
import type { ServerView } from '../view/server-view.ts'
import type { ToolFilter } from '../view/tool-filter.ts'
import { shapedAnswer } from './stateless.ts'

/** Milliseconds allowed for running calls when a server is replaced. */
export const DRAIN = 30_000

/** The answer to a failed `initialize`. */
function notOpened(fault: Fault, request: Request): Opened {
  const { text = '', ...answer } = faultAnswer({ request }, fault)
  return { ok: false, text, ...answer }
}

/** The keys of all servers' template values, combined. */
export function keyOf(resolved: readonly Resolved[]): string {
  return resolved.map(({ key }) => key).join()
}

/** The parts of its backend that a session needs, which a reload may replace. */
export interface ProxySessionOptions {
  backend: Backend
  sessions: ProxySessions
  /** Whether a server's templates read the request. */
  varies: boolean
  /** Whether each caller has its own credentials for one of the servers. */
  perCaller: boolean
  /** Whether a reload has replaced the backend. */
  isRetired(): boolean
  /** The servers' template values for the caller. */
  resolved: readonly Resolved[]
  /** Creates the session with one or several servers. @param before the aggregate before a reload */
  open(events: UpstreamSessionEvents, restore: () => Restored[], before?: AggregateSession): UpstreamSession
  /** Continues the session that another replica opened with a server. */
  resume(events: UpstreamSessionEvents, restore: () => Restored[], resumed: Resumed): UpstreamSession
  /** Whether other replicas may use the server's session, which then ends only with the client's. */
  shared: boolean
  filter: ToolFilter | undefined
  /** Absent for several servers: each has its own. */
  view: ServerView | undefined
  /** HTTP tools beside several servers, if they should answer the request. */
  local?: (request: Request) => ToolsBackend | undefined
  /** Milliseconds without a message after which a call times out. */
  timeout: number
}

/** Maximum characters of a server's session id that fit in the client's own: proxies limit headers to 4 or 8 KiB. */
const MAX_CARRIED = 1024
const UNKNOWN = new Fault('lost', 'The session is unknown or has ended: send initialize again')

/** A client's session with proxied servers; its ids are passed on unchanged. */
export class ProxySession implements BackendSession {
  readonly needsUniqueIds = true
  /** The client's `initialize`, once accepted; repeated to replace a lost session. */
  handshake: Request | undefined
  private readonly state = createLasting()
  private upstream: UpstreamSession | undefined
  private opening = false
  private closed = false
  /** Whether the server refuses the client's session, so that the client must initialize again. */
  private isRefused = false
  private draining: NodeJS.Timeout | undefined
  private drained: Promise<void> | undefined
  private onClosed: (() => void) | undefined
  private sessions: ProxySessions
  /** The other replicas, as the last request reached them. */
  private replicas: Replicas | undefined
  private readonly events: UpstreamSessionEvents = {
    message: (message) => this.session.deliver(message, this),
    lost: () => this.session.forgetQuestions(this),
    refused: () => {
      this.isRefused = true
      this.upstream?.close()
      this.onSettled()
    },
  }

  constructor(
    private readonly session: ClientSession,
    private options: ProxySessionOptions,
  ) {
    this.sessions = options.sessions
    this.sessions.add(this, session)
  }

  get backend(): Backend {
    return this.options.backend
  }
  get timeout(): number {
    return this.options.timeout
  }
  private get key(): string {
    return keyOf(this.options.resolved)
  }

  /** The caller's credentials may have changed. */
  admits(context: RequestContext): boolean {
    const { varies, perCaller, backend } = this.options
    // With token context, each request brings the caller's newest token.
    if (!varies || (this.session.caller !== undefined && !perCaller)) return true
    return backend.viewerOf?.(context) === this.key
  }

  async initialize(_session: ClientSession, request: Request): Promise<Opened> {
    this.upstream = this.options.open(this.events, this.state.restore)
    this.opening = true
    const reply = await this.upstream.start(request)
    this.opening = false
    if (reply instanceof Fault) return notOpened(reply, request)
    const { result } = reply.raw
    const version = isObject(result) ? result.protocolVersion : undefined
    if (isSessionRevision(version)) this.session.revision = version
    if (isObject(result)) this.handshake = request
    return { text: reply.text, ok: isObject(result), end: { ...endOf(reply.raw), outcome: 'failed' } }
  }

  /** Opens a session to replace another server's, with the same handshake and state. */
  async migrate(handshake: Request, restored: readonly Restored[]): Promise<Opened> {
    const opened = await this.initialize(this.session, handshake)
    const { upstream } = this
    if (!opened.ok || !upstream) return opened
    completeHandshake(upstream)
    for (const request of restored) this.state.remember(request)
    restoreIn(upstream, restored)
    return opened
  }

  /** Requests that restore this session's state in a new one. */
  restore(): Restored[] {
    return this.state.restore()
  }

  async request(call: Call): Promise<Answer> {
    const { request } = call
    const local = this.options.local?.(request)
    if (local) return local.request(call)
    const { owner } = this.session
    this.replicas = call.context.replicas
    // The replica that opens the session again must know the state to restore.
    if (owner !== undefined && setsState(request)) {
      const told = await this.replicas?.forward(owner, textOf(request), request.id)
      await told?.text()
    }
    const { filter } = this.options
    this.state.remember(request)
    const sent = filter ? filter.request(request) : request
    if ('code' in sent) return errorAnswer(call, sent)
    const onReply = () => {
      call.isOver = true
    }
    const trace = traceIn(call.context.headers)
    const begin = performance.now()
    const reply = await this.upstream?.request(filter ? asChecked(sent) : sent, { trace, onReply })
    call.isOver = true
    const server = this.options.view && this.options.resolved[0]
    call.onExchange?.(exchangeOf(server, sent, reply instanceof Fault ? reply : reply?.raw, begin))
    if (this.isRefused) return { ...faultAnswer(call, UNKNOWN), status: 404 }
    if (!reply || reply === CANCELLATION) return CANCELLED
    return reply instanceof Fault ? faultAnswer(call, reply) : this.answer(call, reply)
  }

  /** The client's view of a reply. */
  private async answer(call: Call, { raw, text, shaping: given }: Reply): Promise<Answer> {
    const { view } = this.options
    const { request } = call
    const shaping = given ?? view?.shaping(request)
    if (shaping) return shapedAnswer(call, raw, text, shaping)
    return { text: view ? view.response(request.method, raw, text) : text, end: endOf(raw) }
  }

  notify(message: Message): void {
    this.upstream?.notify(this.options.filter ? asChecked(message) : message)
  }

  /** Continues a session that another replica opened. */
  continue({ upstream }: Ticket): void {
    const { revision } = this.session
    const resumed = { token: { id: upstream, revision }, renew: () => this.renew() }
    this.upstream = this.options.resume(this.events, this.state.restore, resumed)
  }

  /** Lets the replica with the handshake notice the loss of the server's session, and open another one. */
  private async renew(): Promise<ResumeToken | undefined> {
    const { owner, revision } = this.session
    const { replicas } = this
    const ping = ownRequest('ping', {})
    const answer = owner && (await replicas?.forward(owner, stringify(ping.raw), ping.id))
    if (!answer) return undefined
    await answer.text()
    const ticket = replicas?.read(answer.headers['mcp-session-id'] ?? '')
    return ticket?.kind === 'upstream' && ticket.key === this.key
      ? { id: ticket.upstream, revision }
      : undefined
  }

  ticket(): ReturnType<BackendSession['ticket']> {
    const token = this.upstream?.resume?.()
    if (!token || (token.id ?? '').length > MAX_CARRIED) return undefined
    return { kind: 'upstream', key: this.key, ...(token.id && { upstream: token.id }) }
  }

  async openStream({ replicas }: RequestContext): Promise<HttpResponse | undefined> {
    const { owner } = this.session
    const answer = owner === undefined ? undefined : await replicas?.forward(owner)
    if (answer?.ok) return answer
    // The client's handshake may have ended at another replica.
    if (replicas) this.upstream?.listen?.()
    return undefined
  }

  /** Whether it has several servers, and can move to another backend after a reload. */
  get isMovable(): boolean {
    const isEnding = this.closed || this.drained !== undefined
    return !isEnding && this.handshake !== undefined && this.upstream instanceof AggregateSession
  }

  /** Moves it to the sessions of the backend that takes it over. */
  moveTo(sessions: ProxySessions): void {
    this.sessions.remove(this)
    this.sessions = sessions
    if (!this.closed) sessions.add(this, this.session)
  }

  /** Ends the sessions with all servers except `kept`; resolves when their calls have ended. */
  async trim(kept: ReadonlySet<object>): Promise<void> {
    if (this.upstream instanceof AggregateSession) await this.upstream.trim(kept, DRAIN)
  }

  /** Continues after a reload; unchanged servers notice nothing. */
  async resume(options: ProxySessionOptions): Promise<void> {
    const before = this.upstream
    if (!(before instanceof AggregateSession)) return
    this.moveTo(options.sessions)
    this.options = options
    this.upstream = options.open(this.events, this.state.restore, before)
    if (this.upstream instanceof AggregateSession) await this.upstream.takeOver(before, DRAIN)
  }

  busy(): boolean {
    return this.opening
  }

  /** Whether a call of the client is running, or the session is otherwise in use. */
  inUse(): boolean {
    return this.opening || this.session.hasCalls(this)
  }

  onSettled(): void {
    if (this.inUse()) return
    if (this.isRefused) this.session.end()
    else if (this.draining) this.close(false)
  }

  drain(limit: number = DRAIN): Promise<void> {
    this.drained ??= new Promise((resolve) => {
      if (this.closed) return resolve()
      this.onClosed = resolve
      this.draining = setTimeout(() => this.close(false), limit)
      this.onSettled()
    })
    return this.drained
  }

  close(forGood: boolean): void {
    if (this.closed) return
    this.closed = true
    this.sessions.remove(this)
    clearTimeout(this.draining)
    this.session.forgetQuestions(this)
    // Other replicas may continue the server's session, unless its client or a reload has ended it.
    const isReplaced = this.options.isRetired() && this.session.owner === undefined
    this.upstream?.close(this.options.shared && !forGood && !isReplaced)
    this.state.forget()
    this.onClosed?.()
  }
}

/** Maximum milliseconds between checks for idle sessions. */
const SWEEP = 15_000

/** The client sessions of one backend. */
export class ProxySessions {
  private readonly all = new Map<ProxySession, ClientSession>()
  private sweeper: NodeJS.Timeout | undefined

  constructor(
    private readonly idleTimeout: number,
    private readonly onSweep: () => void,
  ) {}

  get size(): number {
    return this.all.size
  }

  add(made: ProxySession, session: ClientSession): void {
    this.all.set(made, session)
    this.watch()
  }

  remove(made: ProxySession): void {
    this.all.delete(made)
  }

  /**
   * Moves sessions with several servers to a backend that shares some of the servers.
   * @param kept the shared servers
   * @returns when their calls at other servers have ended
   */
  async moveTo(successor: ProxySessions, kept: ReadonlySet<object>): Promise<void> {
    const movable = [...this.all.keys()].filter((made) => made.isMovable)
    const moved = movable.map((made) => {
      made.moveTo(successor)
      return made.trim(kept)
    })
    await Promise.all(moved)
  }

  /** Starts checking for idle sessions. */
  watch(): void {
    const period = Math.max(10, Math.min(SWEEP, this.idleTimeout / 2))
    this.sweeper ??= setInterval(() => this.sweep(), period).unref()
  }

  /** All sessions, as candidates to be ended for a new one. */
  occupants(): Occupant[] {
    return [...this.all].map(([made, session]) => ({
      quotaKey: session.quotaKey,
      used: session.lastUsed,
      idle: !isUsed(made, session),
      end: () => session.end(),
    }))
  }

  /** Ends each session when its calls have ended, or after DRAIN ms. */
  async drain(): Promise<void> {
    await Promise.all([...this.all.keys()].map((made) => made.drain()))
  }

  /** Ends all sessions at once. */
  close(): void {
    clearInterval(this.sweeper)
    for (const [made, session] of [...this.all]) {
      if (session.backendSession === made) session.end()
      else made.close(false)
    }
  }

  private sweep(): void {
    const since = performance.now() - this.idleTimeout
    for (const [made, session] of [...this.all])
      if (session.lastUsed <= since && !isUsed(made, session)) session.end()
    this.onSweep()
  }
}

function isUsed(made: ProxySession, session: ClientSession): boolean {
  return made.inUse() || session.streams.length > 0
}
