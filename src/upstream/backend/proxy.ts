import { HttpResponse } from '../../access/http-response.ts'
import type { Ticket } from '../../cluster/index.ts'
import type { BreakerSettings, Limits } from '../../config/model.ts'
import { type JsonObject, stringify } from '../../json/index.ts'
import {
  type Backend,
  type BackendSession,
  CLIENT_CAPABILITIES,
  type ClientSession,
  Fault,
  LISTEN,
  listingOf,
  type Migrated,
  ownRequest,
  type Request,
  type RequestContext,
  type StatelessFound,
} from '../../mcp/index.ts'
import type { BreakerState, Guards, Resilience } from '../../net/index.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { RedactionRecord, StreamRecord, UpstreamLabels } from '../../telemetry/metrics.ts'
import type { ToolsBackend } from '../../tools/backend.ts'
import type { RedactedKind } from '../../tools/mask.ts'
import type { ClashKind, Member, MemberOptions } from '../aggregate/aggregate.ts'
import { KeptOwners } from '../aggregate/owners.ts'
import { isOfTask, ownerOf } from '../aggregate/server-names.ts'
import { AggregateSession } from '../aggregate/session.ts'
import { AggregateStateless } from '../aggregate/stateless.ts'
import type { Protocol } from '../bridge/probe.ts'
import type { Definition, Resolved } from '../definition.ts'
import { SESSION_NAME } from '../pool/pool.ts'
import { helloOf } from '../pool/session.ts'
import type { StatelessUpstream } from '../rpc/stateless-upstream.ts'
import type { Measures } from '../sent-requests.ts'
import type { DeclaredList, UpstreamServer } from '../server.ts'
import { type ServerUser, SharedServers } from '../shared-servers.ts'
import type { StreamChange } from '../transport/lasting-stream.ts'
import type { ServerChildren, UpstreamContext } from '../upstream.ts'
import type { PinChange } from '../view/pins.ts'
import { composed, createToolFilter, type Selection } from '../view/tool-filter.ts'
import { DRAIN, keyOf, ProxySession, type ProxySessionOptions, ProxySessions } from './session.ts'
import { resumed, StatelessRequest, withStates } from './stateless.ts'

/** Creates the retries and circuit breaker of a server. */
export type CreateResilience = (of: UpstreamLabels, breaker: BreakerSettings | undefined) => Resilience

/** A declaration of a server that differs from its pin file. */
export interface PinRecord extends PinChange {
  tenant: string
  prefix: string
  server: string
  /** Whether it is hidden. */
  blocked: boolean
}

export interface ProxyContext {
  /** The gateway's environment; children get only a small part. */
  env: Readonly<Record<string, string | undefined>>
  /** Limits of the process; a server's own take precedence. */
  limits: Limits
  log: Logger
  /** Checks outbound HTTP connections; absent: every address is allowed. */
  guards?: Guards | undefined
  /** For the log. */
  prefix: string
  tenant: string
  version: string
  /** Called for every event stream of a server that is lost or restored. */
  onStream?: ((record: StreamRecord) => void) | undefined
  /** Called for every finished request to a server, and every finished session with one. */
  onUpstreamCall?: Measures['onUpstreamCall']
  onUpstreamSession?: Measures['onUpstreamSession']
  /** Called for every difference from the pin file. */
  onPinChange?: ((record: PinRecord) => void) | undefined
  onRedacted?: ((record: RedactionRecord) => void) | undefined
  /** How several servers are combined; absent: there is one, shown unchanged. */
  together?: Together | undefined
  /** Servers shared with other routers. Default: none. */
  servers?: SharedServers
  /** Creates circuit breakers; absent: none. */
  createResilience?: CreateResilience | undefined
}

/** How several servers are combined. */
export interface Together {
  names: 'prefixed' | 'plain'
  /** The tools that the router shows of each server, in order; undefined: all. */
  selections: readonly (Selection | undefined)[]
  /** HTTP tools and prompts beside the servers, by the names that clients see. */
  local: ToolsBackend | undefined
}

/** Current state of a proxy. */
export interface ProxyStatus {
  /** Names of the servers. */
  servers: string[]
  /**
   * `starting`: the start at load is running; `failing`: a start failed or a child ended with an error, and the server
   * has not answered since then; `idle`: nothing is open.
   */
  state: 'idle' | 'starting' | 'connected' | 'failing'
  /** Number of client sessions. */
  sessions: number
  /** Connections and children held for them. */
  connections: number
  pids: number[]
  /** Reasons, if failing. */
  faults?: string[]
  /** Declarations of servers that clients could not read, which were repaired or omitted. */
  declarations?: string[]
}

/** The backend of a router with MCP servers. It holds processes and connections, so close it. */
export interface McpProxy extends Backend {
  status(): ProxyStatus
  /** The children of each server. */
  children(): ServerChildren[]
  /** Asks each server for its tools and prompts, as a request without a caller. */
  declared(): Promise<DeclaredList[]>
  /** Replaces the HTTP tools beside the servers after a reload that keeps the servers. */
  serve(local: ToolsBackend | undefined): void
  /** State of each circuit breaker. */
  breakers(): { server: string; state: BreakerState }[]
  /** Starts servers as `policy` and `preinstalled` require, and logs failures; calls wait meanwhile. */
  start(): Promise<void>
  /**
   * Accepts no new sessions, ends each when its calls have ended, then closes.
   * @param successor takes over sessions with several servers that it shares
   */
  retire(successor?: McpProxy): Promise<void>
  /** Ends every session, connection and child; resolves when all have ended. */
  close(): Promise<void>
}

const REPLACED = new Fault('busy', 'The server is being replaced: try again')

/** Creates the backend of a router with MCP servers; servers start at `start` or at the first request. */
export function createProxy(definitions: readonly Definition[], context: ProxyContext): McpProxy {
  return new ProxyBackend(definitions, context)
}

/** Placeholder for one of several servers that the caller may not use. */
function refused(refusal: Fault, i: number): Resolved {
  return { env: {}, origin: '', path: '', headers: {}, key: `refused-${i}`, refusal }
}

/** The handshake of a session served so far by HTTP tools; undefined: none yet. */
function handshakeOf({
  clientParams: hello,
  owner,
  elicits,
  revision: protocolVersion,
}: ClientSession): Request | undefined {
  // If another replica opened it, only this capability is known.
  const capabilities = elicits ? { elicitation: {} } : {}
  const known = hello ?? (owner !== undefined && helloOf({ _meta: { [CLIENT_CAPABILITIES]: capabilities } }))
  if (!known) return undefined
  return ownRequest('initialize', { protocolVersion, ...known }, 0)
}

/** The callers that share a child or session of a server for stateless requests. */
type Sharing = 'none' | 'all' | 'each'

function sharingOf({ upstream }: UpstreamServer, protocol: Protocol): Sharing {
  const { server, transport } = upstream.definition
  if (protocol === 'stateless') return transport.messages === 'requests' ? 'none' : 'all'
  return server.isolation === 'session' ? 'each' : 'all'
}

/** Key of requests that need the same child or session, for routing among workers; undefined: any worker will do. */
function placeOf(
  sharing: readonly Sharing[],
  key: string,
  { headers, caller }: RequestContext,
): (string | null)[] | undefined {
  const name = headers[SESSION_NAME]
  if (sharing.includes('each') && caller === undefined && name === undefined) return undefined
  if (sharing.includes('all')) return [key]
  return sharing.includes('each') ? [key, caller ?? null, name ?? null] : undefined
}

/** A server, and the part of it that the router shows. */
type MemberView = Omit<Member, 'resolved'>

/** One proxied MCP server, or several behind one prefix. */
class ProxyBackend implements McpProxy, ServerUser {
  private readonly servers: SharedServers
  private acquired: readonly MemberView[] | undefined
  private local: ToolsBackend | undefined
  private readonly info: { name: string; version: string }
  private readonly sessions: ProxySessions
  private readonly owners = new KeptOwners()
  private retired = false
  /** Running stateless requests. */
  private statelessCalls = 0
  private onQuiet: (() => void) | undefined
  private closed: Promise<unknown> | undefined

  constructor(
    private readonly definitions: readonly Definition[],
    private readonly context: ProxyContext,
  ) {
    const { together, prefix, version, servers = new SharedServers() } = context
    const idle = Math.min(...definitions.map(({ server }) => server.idleTimeout))
    this.servers = servers
    this.local = together?.local
    this.sessions = new ProxySessions(idle, () => {
      for (const { server } of this.members) server.sweep()
    })
    this.info = { name: prefix.replace(/^\//, '') || 'plantgw', version }
  }

  open(session: ClientSession, context: RequestContext): ProxySession | Fault {
    const options = this.sessionOptions(session, context)
    return options instanceof Fault ? options : new ProxySession(session, options)
  }

  resume(session: ClientSession, context: RequestContext, ticket: Ticket): BackendSession | undefined {
    const { server, transport } = this.singleServer?.upstream.definition ?? {}
    const options = this.sessionOptions(session, context)
    // A session continues only at the server where it was opened.
    if (options instanceof Fault || keyOf(options.resolved) !== ticket.key) return undefined
    if (ticket.kind !== 'upstream' || transport?.messages !== 'requests') return undefined
    if (server?.isolation !== 'session') return undefined
    const made = new ProxySession(session, options)
    made.continue(ticket)
    return made
  }

  async migrate(session: ClientSession, context: RequestContext): Promise<Migrated> {
    const { backendSession } = session
    const before = backendSession instanceof ProxySession ? backendSession : undefined
    const options = this.sessionOptions(session, context)
    if (options instanceof Fault) return options
    // Unchanged servers of several notice nothing.
    if (before?.isMovable && this.context.together) {
      await before.resume(options)
      return before
    }
    const handshake = before ? before.handshake : handshakeOf(session)
    const made = new ProxySession(session, options)
    // The client has not initialized yet.
    if (!handshake) return made
    const opened = await made.migrate(handshake, before?.restore() ?? [])
    if (opened.ok) return made
    made.close(true)
    return new Fault('refused', 'The server was replaced, and the new one did not take the session')
  }

  viewerOf(context: RequestContext): string | undefined {
    const resolved = this.resolve(context)
    return resolved instanceof Fault ? undefined : keyOf(resolved)
  }

  async stateless(context: RequestContext, given: Request, text: string): Promise<StatelessFound> {
    if (this.retired) return REPLACED
    this.sessions.watch()
    // A subscription is unlimited in time, so it is not counted.
    const listens = given.method === LISTEN
    if (!listens) this.count(context)
    const resolved = this.resolve(context)
    if (resolved instanceof Fault) return resolved
    const local = this.localFor(given)
    if (local) return local
    const { singleServer } = this
    const [first] = resolved as [Resolved]
    const protocol = singleServer && (await singleServer.protocol(first, given.params))
    if (protocol instanceof Fault && !protocol.login) return protocol
    const answer = await this.inPlace(context, given, text, resolved)
    if (answer) return answer
    // With search, lists are cached for each caller.
    const searches = listingOf(context) !== undefined
    const server =
      singleServer && protocol
        ? singleServer.bridge(protocol, first, searches)
        : new AggregateStateless(this.aggregated(resolved), given.params)
    return this.statelessRequest(context, given, text, server, first)
  }

  status(): ProxyStatus {
    const { sessions } = this
    const servers = this.members.map(({ server }) => server)
    const connections = servers.reduce((sum, { upstream }) => sum + upstream.size(), 0)
    const atLoad = servers.map((server) => server.atLoad())
    const faultsOf = ({ upstream }: UpstreamServer, i: number) => {
      const [own, start] = [upstream.faults(), atLoad[i]]
      return !own.length && start instanceof Fault ? [start.message] : own
    }
    const faults = [...new Set(servers.flatMap(faultsOf))]
    const declarations = servers.flatMap(({ upstream }) => upstream.declarationFaults())
    const open = connections + sessions.size > 0 ? 'connected' : 'idle'
    return {
      servers: servers.map(({ upstream }) => upstream.name),
      state: faults.length ? 'failing' : atLoad.includes('starting') ? 'starting' : open,
      sessions: sessions.size,
      connections,
      pids: servers.flatMap(({ upstream }) => upstream.pids()),
      ...(faults.length && { faults }),
      ...(declarations.length && { declarations }),
    }
  }

  children() {
    return this.members.map(({ server }) => server.upstream.children())
  }

  async declared(): Promise<DeclaredList[]> {
    const lists = this.members.map(async ({ server, view, name }) => {
      const { definition } = server.upstream
      const resolved = definition.resolve({ headers: {}, query: () => ({}) })
      if (resolved instanceof Fault)
        return [{ server: name, kind: 'tools' as const, fault: resolved.message }]
      return server.declared(view, resolved)
    })
    return (await Promise.all(lists)).flat()
  }

  breakers() {
    return this.members.flatMap(({ name, server }) => {
      const state = server.upstream.resilience?.state()
      return state ? [{ server: name, state }] : []
    })
  }

  async start(): Promise<void> {
    const { log, tenant, prefix } = this.context
    const started = this.members.map(async ({ name, server }) => {
      const fault = await server.start()
      // A server closed meanwhile did not fail.
      if (fault && !this.retired)
        log.error(
          { tenant, prefix, server: name, reason: fault.message },
          'MCP server did not start; calls will try again',
        )
    })
    await Promise.all(started)
  }

  async retire(successor?: McpProxy): Promise<void> {
    this.retired = true
    for (const { server } of this.acquired ?? []) this.servers.leave(server, this)
    const moved = successor instanceof ProxyBackend ? this.moveTo(successor) : undefined
    await Promise.all([moved, this.sessions.drain(), this.quiet()])
    await this.close()
  }

  private async moveTo(successor: ProxyBackend): Promise<void> {
    if (!this.context.together || !successor.context.together) return
    const own = new Set(this.members.map(({ server }) => server))
    const kept = successor.members.map(({ server }) => server).filter((server) => own.has(server))
    if (kept.length) await this.sessions.moveTo(successor.sessions, new Set(kept))
  }

  async close(): Promise<void> {
    this.retired = true
    this.sessions.close()
    const taken = this.acquired ?? []
    this.closed ??= Promise.all(taken.map(({ server }) => this.servers.release(server, this)))
    await this.closed
  }

  private sessionOptions(session: ClientSession, context: RequestContext): ProxySessionOptions | Fault {
    if (this.retired) return REPLACED
    const resolved = this.resolve(context)
    if (resolved instanceof Fault) return resolved
    const { singleServer, definitions } = this
    return {
      backend: this,
      sessions: this.sessions,
      varies: definitions.some(({ varies }) => varies),
      perCaller: definitions.some(({ perCaller }) => perCaller),
      isRetired: () => this.retired,
      resolved,
      shared: context.replicas !== undefined,
      resume: (...how) => (singleServer as UpstreamServer).resume(resolved[0] as Resolved, session, ...how),
      timeout: Math.max(...this.members.map(({ server }) => server.upstream.limits.timeout)),
      filter: singleServer?.upstream.filter,
      view: singleServer?.upstream.view,
      local: (request) => this.localFor(request),
      open: (events, restore, before) => {
        if (singleServer) return singleServer.session(resolved[0] as Resolved, session, events, restore)
        return new AggregateSession(this.aggregated(resolved), session, events, before)
      },
    }
  }

  /** Several servers as one, for one caller. */
  private aggregated(resolved: readonly Resolved[]): MemberOptions {
    const { info, onClash, onDown } = this
    const isPlain = this.context.together?.names === 'plain'
    const owners = this.owners.of(keyOf(resolved))
    const members = this.members.map((member, i) => ({ ...member, resolved: resolved[i] as Resolved }))
    return { info, isPlain, owners, local: () => this.local, onClash, onDown, members }
  }

  /** The servers, acquired at first use: the backend of a refused configuration is never closed. */
  private get members(): readonly MemberView[] {
    this.acquired ??= this.acquire()
    return this.acquired
  }

  private acquire(): MemberView[] {
    const { context, definitions } = this
    const { env, limits, log, guards, version, tenant } = context
    const onRedacted = (server: string, kind: RedactedKind, count: number) =>
      context.onRedacted?.({ tenant, server, kind, count })
    const createResilience: UpstreamContext['createResilience'] = (server, breaker) =>
      context.createResilience?.({ tenant, server }, breaker)
    const shared = { env, limits, log, guards, version, measures: context, onRedacted, createResilience }
    return definitions.map((definition, i) => {
      const server = this.servers.take(definition, shared, this)
      const { upstream } = server
      const selection = context.together?.selections[i]
      const filter = composed(upstream.filter, selection && createToolFilter(selection))
      return { name: upstream.name, server, filter, view: upstream.view.filtered(filter) }
    })
  }

  /** The only server, unless several are combined. */
  private get singleServer(): UpstreamServer | undefined {
    return this.context.together ? undefined : this.members[0]?.server
  }

  occupants() {
    return this.sessions.occupants()
  }

  serve(local: ToolsBackend | undefined): void {
    this.local = local
  }

  /** The HTTP tools beside the servers, if they should answer: also tasks whose id names no server. */
  private localFor(request: Request): ToolsBackend | undefined {
    const { local } = this
    const isTheirs =
      local?.takes(request) ||
      (local?.hasTasks &&
        isOfTask(request.method) &&
        !ownerOf(
          this.definitions.map(({ server }) => server),
          String(request.params.taskId),
        ))
    return isTheirs ? local : undefined
  }

  /** The answer of the worker with the shared child or session; undefined: this worker has it. */
  private async inPlace(
    context: RequestContext,
    given: Request,
    text: string,
    resolved: readonly Resolved[],
  ): Promise<HttpResponse | undefined> {
    const { replicas, lease } = context
    // A continued call is routed by its `requestState`.
    if (!replicas?.sharesServers || given.params.requestState !== undefined) return undefined
    const place = placeOf(await this.sharing(resolved, given.params), keyOf(resolved), context)
    const elsewhere = place && replicas.fromOwner(stringify([...this.ids, ...place]), text, given.id)
    // A subscription is unlimited in time, so it is not counted.
    if (elsewhere && given.method === LISTEN) lease.uncount()
    return elsewhere
  }

  /** How each server is shared; one whose protocol is unknown shares nothing. */
  private sharing(resolved: readonly Resolved[], params: JsonObject): Promise<Sharing[]> {
    const all = this.members.map(async ({ server }, i) => {
      const protocol = await server.answerTimeout.limit(server.protocol(resolved[i] as Resolved, params))
      return typeof protocol === 'string' ? sharingOf(server, protocol) : 'none'
    })
    return Promise.all(all)
  }

  private get ids(): string[] {
    return this.definitions.map(({ id, server }) => id ?? server.name)
  }

  private async statelessRequest(
    { replicas }: RequestContext,
    given: Request,
    text: string,
    server: StatelessUpstream,
    resolved: Resolved,
  ): Promise<StatelessFound> {
    const { filter, view } = this.singleServer?.upstream ?? {}
    if (!replicas) return new StatelessRequest(server, given, resolved, filter, view)
    // A call that waits for input is kept in one replica.
    const request = await resumed(replicas, given, text)
    if (request instanceof HttpResponse) return request
    return new StatelessRequest(withStates(server, replicas), request, resolved, filter, view)
  }

  /** Renders the templates of every server for one caller. */
  private resolve(context: RequestContext): Resolved[] | Fault {
    const all = this.definitions.map((definition) => definition.resolve(context))
    const refusals = all.filter((one) => one instanceof Fault)
    const [refusal] = refusals
    const hasOthers = this.local !== undefined || refusals.length < all.length
    if (refusal && !(this.context.together && hasOthers)) return refusal
    return all.map((one, i) => (one instanceof Fault ? refused(one, i) : one))
  }

  /** Counts a stateless request until it ends. */
  private count({ lease }: RequestContext): void {
    this.statelessCalls++
    lease.onGone(() => {
      this.statelessCalls--
      if (!this.statelessCalls) this.onQuiet?.()
    })
  }

  /** Resolves when no stateless request is running, or after DRAIN ms. */
  private async quiet(): Promise<void> {
    if (!this.statelessCalls) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.onQuiet = resolve
      timer = setTimeout(resolve, DRAIN)
    })
    clearTimeout(timer)
  }

  private readonly onClash = (kind: ClashKind, name: string, server: string): void => {
    const { log, tenant, prefix } = this.context
    log.warn(
      { tenant, prefix, server, [kind === 'resource' ? 'uri' : kind]: name.slice(0, 200) },
      `two servers have this ${kind}; serving that of the first`,
    )
  }

  private readonly onDown = (server: string, reason: string): void => {
    const { log, tenant, prefix } = this.context
    log.warn({ tenant, prefix, server, reason }, 'a server of this prefix is down; its tools are hidden')
  }

  onPinChange(server: string, { kind, name, change }: PinChange, blocked: boolean): void {
    const { log, tenant, prefix, onPinChange } = this.context
    onPinChange?.({ tenant, prefix, server, kind, name, change, blocked })
    log.warn(
      { tenant, prefix, server, kind, ...(name && { name: name.slice(0, 200) }), change },
      blocked
        ? 'hiding items of an MCP server that differ from the pin file'
        : 'items of an MCP server differ from the pin file',
    )
  }

  onStream(server: string, { outcome, outage, reason }: StreamChange): void {
    const { log, tenant, prefix, onStream } = this.context
    onStream?.({ tenant, prefix, outcome })
    if (!outage) return
    if (outcome === 'lost')
      log.warn({ tenant, prefix, server, reason }, 'lost the event stream of an MCP server; opening it again')
    else log.info({ tenant, prefix, server }, 'the event stream of an MCP server is open again')
  }
}
