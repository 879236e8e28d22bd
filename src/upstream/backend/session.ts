import { stringify } from '../../json/index.ts'
import {
  type Backend,
  type BackendSession,
  type Call,
  type Exchange,
  errorText,
  Fault,
  httpStatusOf,
  INTERNAL_ERROR,
  isObject,
  isSessionRevision,
  type Message,
  type Opened,
  ownRequest,
  type PassThrough,
  type Request,
  type RequestId,
  type Session,
} from '../../mcp/index.ts'
import type { Shaping } from '../../shaping/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { ToolsBackend } from '../../tools/backend.ts'
import { AggregateSession } from '../aggregate-session.ts'
import type { Resolved } from '../definition.ts'
import type { Occupant } from '../pool/pool.ts'
import { INITIALIZED, type Link, type LinkEvents, noted, pass } from '../rpc/link.ts'
import type { ServerView } from '../server-view.ts'
import type { ToolFilter } from '../tool-filter.ts'
import { createLasting, type Restored } from './session-state.ts'
import { answerShaped, endOf } from './stateless.ts'

/** Milliseconds that calls under way have to end when a server is replaced. */
export const DRAIN = 30_000

/** The client's `initialize`, which opens another session of the server in place of a lost one. */
export interface Handshake {
  request: Request
  text: string
}

/** What a session needs of the backend that opened it. */
export interface SessionContext {
  readonly backend: Backend
  readonly sessions: Sessions
  /** Whether a template of a server reads the request. */
  readonly varies: boolean
  /** Whether each caller has credentials of its own for one of the servers. */
  readonly perCaller: boolean
  /** Whether a reload has replaced the backend. */
  isRetired(): boolean
  /** What the templates of the servers come to for a caller, as a digest. */
  keyOf(exchange: Exchange): string | undefined
}

/** The answer to an `initialize` that came to nothing. */
export function notOpened(fault: Fault, id: RequestId, status = httpStatusOf(fault)): Opened {
  const { message, challenge } = fault
  return {
    ok: false,
    text: errorText(id, { code: INTERNAL_ERROR, message }),
    status,
    ...(challenge !== undefined && { headers: { 'www-authenticate': challenge } }),
  }
}

/** What templates of servers come to, as one text. */
export function keyOf(resolved: readonly Resolved[]): string {
  return resolved.map(({ key }) => key).join()
}

/** A client's session with proxied servers. */
export abstract class ProxySession implements BackendSession {
  backend: Backend
  abstract readonly needsUniqueIds: boolean
  abstract readonly timeout: number | undefined
  readonly passThrough: PassThrough | undefined
  /** Of the client, once it was taken. */
  handshake: Handshake | undefined
  private draining: NodeJS.Timeout | undefined
  protected drained: Promise<void> | undefined
  private onClosed: (() => void) | undefined
  protected closed = false
  private registry: Sessions

  constructor(
    protected context: SessionContext,
    protected readonly session: Session,
    protected resolved: readonly Resolved[],
  ) {
    this.backend = context.backend
    this.registry = context.sessions
    this.registry.add(this, session)
  }

  /** Is counted among the sessions of another backend, which is to go on with it. */
  moveTo(sessions: Sessions): void {
    this.registry.remove(this)
    this.registry = sessions
    if (!this.closed) sessions.add(this, this.session)
  }

  protected get key(): string {
    return keyOf(this.resolved)
  }

  /** A client that is known by a credential may have another one by now. */
  admits(exchange: Exchange): boolean {
    const { varies, perCaller, keyOf } = this.context
    // Where tokens are exchanged, each request brings the newest one of its caller.
    if (!varies || (this.session.caller !== undefined && !perCaller)) return true
    return keyOf(exchange) === this.key
  }

  /** Whether a call of the client is under way, or the session is in use beyond its calls. */
  inUse(): boolean {
    return this.busy() || this.session.hasCalls(this)
  }

  onSettled(): void {
    if (this.draining && !this.inUse()) this.close(false)
  }

  drain(limit: number = DRAIN): Promise<void> {
    this.drained ??= new Promise((resolve) => {
      if (this.closed) return resolve()
      this.onClosed = resolve
      this.draining = setTimeout(() => this.close(false), limit)
      this.onDrain()
      this.onSettled()
    })
    return this.drained
  }

  close(forGood: boolean): void {
    if (this.closed) return
    this.closed = true
    this.registry.remove(this)
    clearTimeout(this.draining)
    this.end(forGood)
    this.onClosed?.()
  }

  abstract initialize(session: Session, request: Request, text: string, exchange: Exchange): Promise<Opened>
  /** Opens the server's session in place of another server's, with the same handshake and state. */
  abstract adopt(handshake: Handshake, restored: readonly Restored[]): Promise<Opened>
  /** Requests that bring a new session of the server into the state of this one. */
  abstract restore(): Restored[]
  abstract request(call: Call): Promise<unknown> | undefined
  abstract notify(message: Message, text: string): void
  abstract ticket(): ReturnType<BackendSession['ticket']>
  abstract busy(): boolean
  /** Ends what is not a call, and so would be waited for in vain. */
  protected abstract onDrain(): void
  protected abstract end(forGood: boolean): void
}

export interface LinkSessionOptions {
  /** Makes what carries messages to the server, or to several. @param before what did until a reload, of several */
  open(events: LinkEvents, restore: () => Restored[], before?: AggregateSession): Link
  filter: ToolFilter | undefined
  /** Absent where several servers are put together, each with its own. */
  view: ServerView | undefined
  /** HTTP tools beside several servers, if a request concerns them. */
  local?: (request: Request) => ToolsBackend | undefined
  /** Milliseconds of silence after which a call times out. */
  timeout: number
}

/** A session whose messages are relayed one by one: ids pass unchanged. */
export class LinkSession extends ProxySession {
  readonly needsUniqueIds = true
  timeout: number
  private readonly state = createLasting()
  private link: Link | undefined
  private opening = false
  private readonly events: LinkEvents = {
    message: (message, text, shaping) => this.take(message, text, shaping),
    lost: ({ message }, ids, kept) => {
      const reason = `${message}; the call was not repeated, the next one starts the server again`
      const all = ids ?? (kept?.size ? this.session.calls.keys() : undefined)
      const lost = kept && all ? [...all].filter((id) => !kept.has(id)) : all
      this.session.lose(this, new Fault('lost', reason), lost)
    },
    // Without an id it may be the answer to any request.
    rejected: (id, fault) => this.session.fail(this, fault, id === undefined ? undefined : [id]),
    refused: () => this.session.end(),
  }

  constructor(
    context: SessionContext,
    session: Session,
    resolved: readonly Resolved[],
    private options: LinkSessionOptions,
  ) {
    super(context, session, resolved)
    this.timeout = options.timeout
  }

  /** Whether it is a session with several servers that may be others after a reload. */
  get isMovable(): boolean {
    const isEnding = this.closed || this.drained !== undefined
    return !isEnding && this.handshake !== undefined && this.link instanceof AggregateSession
  }

  /** Ends the sessions with all servers but those that are kept; resolves when their calls are over. */
  async trim(kept: ReadonlySet<object>): Promise<void> {
    if (this.link instanceof AggregateSession) await this.link.trim(kept, DRAIN)
  }

  /** Goes on after a reload: servers that are the same as before know nothing of it. */
  async goOn(
    context: SessionContext,
    resolved: readonly Resolved[],
    options: LinkSessionOptions,
  ): Promise<void> {
    const before = this.link
    if (!(before instanceof AggregateSession)) return
    this.moveTo(context.sessions)
    Object.assign(this, { context, resolved, options, backend: context.backend, timeout: options.timeout })
    const link = options.open(this.events, this.state.restore, before)
    this.link = link
    if (link instanceof AggregateSession) await link.goOn(before, DRAIN)
  }

  async initialize(_session: Session, request: Request, text: string): Promise<Opened> {
    const link = this.options.open(this.events, this.state.restore)
    this.link = link
    this.opening = true
    const answer = await link.start(request, text)
    this.opening = false
    if (answer instanceof Fault) return notOpened(answer, request.id)
    const { result } = answer.response.raw
    const version = isObject(result) ? result.protocolVersion : undefined
    if (isSessionRevision(version)) this.session.revision = version
    if (isObject(result)) this.handshake = { request, text }
    return { text: answer.text, ok: isObject(result) }
  }

  async adopt({ request, text }: Handshake, restored: readonly Restored[]): Promise<Opened> {
    const opened = await this.initialize(this.session, request, text)
    const { link } = this
    if (!opened.ok || !link) return opened
    await link.send(noted('notifications/initialized'), INITIALIZED)
    for (const { method, params } of restored) {
      this.state.remember({ method, params })
      // Nobody waits for the answer.
      const request = ownRequest(method, params)
      await link.send(request, stringify(request.raw))
    }
    return opened
  }

  restore(): Restored[] {
    return this.state.restore()
  }

  request(call: Call): Promise<unknown> | undefined {
    const { filter } = this.options
    const { request } = call
    const local = this.options.local?.(request)
    if (local) return local.request(call)
    this.state.remember(request)
    const sent = filter ? filter.request(request) : request
    if ('code' in sent) {
      call.error(sent)
      return undefined
    }
    // What was judged is what is sent.
    const fault = this.link?.send(sent, filter ? stringify(sent.raw) : call.text)
    if (fault instanceof Promise) return fault.then((late) => late && call.fail(late))
    if (fault) call.fail(fault)
    return undefined
  }

  notify(message: Message, text: string): void {
    pass(this.link, message, this.options.filter && 'raw' in message ? stringify(message.raw) : text)
  }

  ticket(): undefined {
    return undefined
  }

  busy(): boolean {
    return this.opening
  }

  protected onDrain(): void {}

  protected end(): void {
    this.session.lose(this, new Fault('cancelled', 'The session has ended'))
    this.link?.close()
    this.state.forget()
  }

  /** Takes a message of the server. */
  private take(message: Message, text: string, given: Shaping | undefined): void {
    if (message.kind === 'invalid') return
    if (message.kind !== 'response') {
      this.session.deliver(message, text, this)
      return
    }
    const call = this.session.calls.get(message.id as RequestId)
    // What came too late has nobody who waits for it.
    if (call?.served !== this) return
    const { view } = this.options
    const { request } = call
    const shaping = given ?? view?.shaping(request)
    if (shaping) {
      const failed = unexpected(request.method, () =>
        call.fail(new Fault('internal', 'The result could not be shaped')),
      )
      answerShaped(call, message.raw, text, shaping).catch(failed)
      return
    }
    const shown = view ? view.response(request.method, message.raw, text) : text
    call.answer(shown, endOf(message.raw))
  }
}

/** Milliseconds between looks for idle sessions, at most. */
const SWEEP = 15_000

/** The sessions of clients with one backend. */
export class Sessions {
  private readonly all = new Map<ProxySession, Session>()
  private sweeper: NodeJS.Timeout | undefined

  constructor(
    private readonly idleTimeout: number,
    private readonly onSweep: (idle: number) => void,
  ) {}

  get size(): number {
    return this.all.size
  }

  add(made: ProxySession, session: Session): void {
    this.all.set(made, session)
    this.watch()
  }

  remove(made: ProxySession): void {
    this.all.delete(made)
  }

  /**
   * Gives those with several servers to a backend that has some of the servers, too.
   * @param kept the servers that it has
   * @returns when their calls at other servers are over
   */
  async moveTo(successor: Sessions, kept: ReadonlySet<object>): Promise<void> {
    const movable = [...this.all.keys()].filter((made) => made instanceof LinkSession && made.isMovable)
    const moved = movable.map((made) => {
      made.moveTo(successor)
      return (made as LinkSession).trim(kept)
    })
    await Promise.all(moved)
  }

  /** Looks for idle sessions from now on. */
  watch(): void {
    const period = Math.max(10, Math.min(SWEEP, this.idleTimeout / 2))
    this.sweeper ??= setInterval(() => this.sweep(), period).unref()
  }

  /** All of them, of which one may have to make room. */
  occupants(): Occupant[] {
    return [...this.all].map(([made, session]) => ({
      sharer: session.sharer,
      used: session.lastUsed,
      idle: !isUsed(made, session),
      end: () => session.end(),
    }))
  }

  /** Ends each session when no call of it is under way, or after a while. */
  async drain(): Promise<void> {
    await Promise.all([...this.all.keys()].map((made) => made.drain()))
  }

  /** Ends all at once. */
  close(): void {
    clearInterval(this.sweeper)
    for (const [made, session] of [...this.all]) {
      if (session.served === made) session.end()
      else made.close(false)
    }
  }

  private sweep(): void {
    const since = performance.now() - this.idleTimeout
    for (const [made, session] of [...this.all])
      if (session.lastUsed <= since && !isUsed(made, session)) session.end()
    this.onSweep(this.idleTimeout)
  }
}

function isUsed(made: ProxySession, session: Session): boolean {
  return made.inUse() || session.streams.length > 0
}
