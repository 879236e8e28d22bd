import { stringify } from '../../json/index.ts'
import {
  type Backend,
  type BackendSession,
  type Call,
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
  type RequestContext,
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
import { endOf } from '../sent-requests.ts'
import type { ServerView } from '../server-view.ts'
import type { ToolFilter } from '../tool-filter.ts'
import { createLasting, type Restored } from './session-state.ts'
import { answerShaped } from './stateless.ts'

/** Milliseconds allowed for running calls when a server is replaced. */
export const DRAIN = 30_000

/** The client's `initialize`, repeated to replace a lost session. */
export interface Handshake {
  request: Request
  text: string
}

/** What a session needs from its backend. */
export interface SessionContext {
  readonly backend: Backend
  readonly sessions: Sessions
  /** Whether a server's templates read the request. */
  readonly varies: boolean
  /** Whether each caller has its own credentials for one of the servers. */
  readonly perCaller: boolean
  /** Whether a reload has replaced the backend. */
  isRetired(): boolean
  /** Digest of the servers' template values for a caller. */
  keyOf(context: RequestContext): string | undefined
}

/** The answer to a failed `initialize`. */
export function notOpened(fault: Fault, id: RequestId, status = httpStatusOf(fault)): Opened {
  const { message, challenge } = fault
  return {
    ok: false,
    text: errorText(id, { code: INTERNAL_ERROR, message }),
    status,
    ...(challenge !== undefined && { headers: { 'www-authenticate': challenge } }),
  }
}

/** The keys of all servers' template values, combined. */
export function keyOf(resolved: readonly Resolved[]): string {
  return resolved.map(({ key }) => key).join()
}

/** A client's session with proxied servers. */
export abstract class ProxySession implements BackendSession {
  backend: Backend
  abstract readonly needsUniqueIds: boolean
  abstract readonly timeout: number | undefined
  readonly passThrough: PassThrough | undefined
  /** The client's handshake, once accepted. */
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

  /** Moves it to the sessions of the backend that takes it over. */
  moveTo(sessions: Sessions): void {
    this.registry.remove(this)
    this.registry = sessions
    if (!this.closed) sessions.add(this, this.session)
  }

  protected get key(): string {
    return keyOf(this.resolved)
  }

  /** The caller's credentials may have changed. */
  admits(context: RequestContext): boolean {
    const { varies, perCaller, keyOf } = this.context
    // With token context, each request brings the caller's newest token.
    if (!varies || (this.session.caller !== undefined && !perCaller)) return true
    return keyOf(context) === this.key
  }

  /** Whether a call of the client is running, or the session is otherwise in use. */
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

  abstract initialize(
    session: Session,
    request: Request,
    text: string,
    context: RequestContext,
  ): Promise<Opened>
  /** Opens a session to replace another server's, with the same handshake and state. */
  abstract migrate(handshake: Handshake, restored: readonly Restored[]): Promise<Opened>
  /** Requests that restore this session's state in a new one. */
  abstract restore(): Restored[]
  abstract request(call: Call): Promise<unknown> | undefined
  abstract notify(message: Message, text: string): void
  abstract ticket(): ReturnType<BackendSession['ticket']>
  abstract busy(): boolean
  /** Ends at shutdown what would not end by itself. */
  protected abstract onDrain(): void
  protected abstract end(forGood: boolean): void
}

export interface LinkSessionOptions {
  /** Creates the link to one or several servers. @param before the aggregate before a reload */
  open(events: LinkEvents, restore: () => Restored[], before?: AggregateSession): Link
  filter: ToolFilter | undefined
  /** Absent for several servers: each has its own. */
  view: ServerView | undefined
  /** HTTP tools beside several servers, if they should answer the request. */
  local?: (request: Request) => ToolsBackend | undefined
  /** Milliseconds without a message after which a call times out. */
  timeout: number
}

/** A session whose messages are relayed one by one, with unchanged ids. */
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
    // Without an id, it may answer any request.
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

  /** Whether it has several servers, and can move to another backend after a reload. */
  get isMovable(): boolean {
    const isEnding = this.closed || this.drained !== undefined
    return !isEnding && this.handshake !== undefined && this.link instanceof AggregateSession
  }

  /** Ends the sessions with all servers except `kept`; resolves when their calls have ended. */
  async trim(kept: ReadonlySet<object>): Promise<void> {
    if (this.link instanceof AggregateSession) await this.link.trim(kept, DRAIN)
  }

  /** Continues after a reload; unchanged servers notice nothing. */
  async resume(
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
    if (link instanceof AggregateSession) await link.resume(before, DRAIN)
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

  async migrate({ request, text }: Handshake, restored: readonly Restored[]): Promise<Opened> {
    const opened = await this.initialize(this.session, request, text)
    const { link } = this
    if (!opened.ok || !link) return opened
    await link.send(noted('notifications/initialized'), INITIALIZED)
    for (const { method, params } of restored) {
      this.state.remember({ method, params })
      // The answer is ignored.
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
    // The backend must receive exactly what was checked.
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

  /** Handles a message of the server. */
  private take(message: Message, text: string, given: Shaping | undefined): void {
    if (message.kind === 'invalid') return
    if (message.kind !== 'response') {
      this.session.deliver(message, text, this)
      return
    }
    const call = this.session.calls.get(message.id as RequestId)
    // The call ended before its response came.
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

/** Maximum milliseconds between checks for idle sessions. */
const SWEEP = 15_000

/** The client sessions of one backend. */
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
   * Moves sessions with several servers to a backend that shares some of the servers.
   * @param kept the shared servers
   * @returns when their calls at other servers have ended
   */
  async moveTo(successor: Sessions, kept: ReadonlySet<object>): Promise<void> {
    const movable = [...this.all.keys()].filter((made) => made instanceof LinkSession && made.isMovable)
    const moved = movable.map((made) => {
      made.moveTo(successor)
      return (made as LinkSession).trim(kept)
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
