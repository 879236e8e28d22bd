import type { JsonObject } from '../json/index.ts'
import { Fault, initializeParams, isObject, ownRequest, type Session } from '../mcp/index.ts'
import { Cancellation } from '../net/index.ts'
import { LoginSession, type LoginSessionOptions, loginStateless } from './bridge/login.ts'
import { Probe, type Protocol } from './bridge/probe.ts'
import { ToSession } from './bridge/to-session.ts'
import { ToStateless } from './bridge/to-stateless.ts'
import type { Definition, Resolved } from './definition.ts'
import { makeRoom, type Occupant } from './pool/pool.ts'
import { helloOf } from './pool/session.ts'
import { ChannelSession, type Resumed } from './rpc/channel-session.ts'
import { StatelessClient } from './rpc/stateless-client.ts'
import { type StatelessUpstream, type UpstreamCall, withRequest } from './rpc/stateless-upstream.ts'
import {
  handshakeRefused,
  type Reply,
  type Restored,
  replyOf,
  type UpstreamSession,
  type UpstreamSessionEvents,
} from './rpc/upstream-session.ts'
import { TaskOwners, withOwnTasks } from './task-owners.ts'
import { Upstream, type UpstreamContext } from './upstream.ts'
import { KeptLists } from './view/kept-lists.ts'
import type { ServerView } from './view/server-view.ts'
import { AnswerTimeout } from './waits.ts'

export type Restore = () => Restored[]

/** The first page of a list of one server. */
export interface DeclaredList {
  server: string
  kind: 'tools' | 'prompts'
  /** Why there is no list; undefined: there is one. */
  fault?: string
  items?: DeclaredItem[]
}

export interface DeclaredItem {
  /** As the server declares it. */
  declared: JsonObject
  /** As clients see it; undefined: it is hidden. */
  shown: JsonObject | undefined
  /** How it differs from the pin file; undefined: nothing is pinned. */
  pin: 'same' | 'added' | 'changed' | undefined
}

/** A proxied server with its bridges to clients of every revision. */
export class UpstreamServer {
  readonly upstream: Upstream
  readonly probe: Probe
  /** Waiting limit when combined with other servers. */
  readonly answerTimeout = new AnswerTimeout()
  readonly #stateless: StatelessClient
  /** Cached variant, for use in aggregates. */
  readonly #kept: KeptLists
  readonly #toSession: ToSession
  /** The variants with tasks bound to callers. */
  readonly #own: { stateless: StatelessUpstream; kept: StatelessUpstream; inSession: StatelessUpstream }
  /** Whether the server refused a session-based handshake. */
  #refusesSessions = false
  /** The start at load, run once for all routers that share the server. */
  #started: Promise<Fault | undefined> | undefined
  /** The same while running. */
  #starting: Promise<Fault | undefined> | undefined
  /** Reason for a failed start at load; cleared by a later success. */
  #failed: Fault | undefined

  constructor(
    definition: Definition,
    context: UpstreamContext & { version: string },
    occupants: () => Occupant[],
  ) {
    this.upstream = new Upstream(definition, context, (quotaKey, ownOnly) => {
      const all = [...occupants(), ...this.#toSession.pool.occupants()]
      return makeRoom(ownOnly ? all.filter((one) => one.quotaKey === quotaKey) : all, quotaKey)
    })
    this.#stateless = new StatelessClient(this.upstream, context.version, context.log)
    this.#kept = new KeptLists(this.#stateless, context.onListChanged)
    this.#toSession = new ToSession(this.upstream, context.log)
    this.probe = new Probe(this.upstream, this.#stateless)
    const owners = new TaskOwners()
    const isShared = this.upstream.definition.server.isolation !== 'session'
    this.#own = {
      // Stateless requests of all callers share the server.
      stateless: withOwnTasks(this.#stateless, owners),
      kept: withOwnTasks(
        withRequest(this.#stateless, (call) => this.#kept.request(call)),
        owners,
      ),
      inSession: isShared ? withOwnTasks(this.#toSession, owners) : this.#toSession,
    }
  }

  /**
   * A client's session, bridged if the server is stateless. Waits for a running start at load, and fails with it.
   * @param among whether it belongs to an aggregate, whose lists are cached
   */
  session(
    resolved: Resolved,
    session: Pick<Session, 'caller' | 'quotaKey'>,
    events: UpstreamSessionEvents,
    restore: Restore,
    among = false,
  ): UpstreamSession {
    const { refusal } = resolved
    if (refusal) return { start: async () => refusal, request: async () => refusal, notify() {}, close() {} }
    const stateless = among ? this.#own.kept : this.#own.stateless
    const open = () => this.#open(resolved, session, events, restore, stateless)
    const opened = this.#withLogin(resolved, events, { open, restore }) ?? open()
    const start: UpstreamSession['start'] = async (request) => {
      const fault = await this.#starting
      if (fault) return fault
      const reply = await opened.start(request)
      if (reply instanceof Fault) return reply
      this.#failed = undefined
      const raw = this.upstream.view.shown('initialize', reply.raw, reply.text)
      return raw === reply.raw ? reply : replyOf(raw)
    }
    return { ...forwarding(() => opened), start }
  }

  /** The session of a caller who has to log in; undefined: there are no logins of callers. */
  #withLogin(
    { credential }: Resolved,
    events: UpstreamSessionEvents,
    options: Omit<LoginSessionOptions, 'name' | 'credential'>,
  ): LoginSession | undefined {
    const { name } = this.upstream
    return credential?.onLoginChange && new LoginSession({ name, credential, ...options }, events)
  }

  /** A client's session that another replica opened. */
  resume(
    resolved: Resolved,
    { quotaKey }: Pick<Session, 'quotaKey'>,
    events: UpstreamSessionEvents,
    restore: Restore,
    resumed: Resumed,
  ): UpstreamSession {
    const options = { upstream: this.upstream, resolved, quotaKey, restore, resumed }
    const open = () => new ChannelSession(options, events)
    const current = open()
    return this.#withLogin(resolved, events, { open, restore, current }) ?? current
  }

  #open(
    resolved: Resolved,
    { caller, quotaKey }: Pick<Session, 'caller' | 'quotaKey'>,
    events: UpstreamSessionEvents,
    restore: Restore,
    stateless: StatelessUpstream = this.#own.stateless,
  ): UpstreamSession {
    const { upstream } = this
    const bridged = (server: StatelessUpstream) =>
      new ToStateless({ server, resolved, caller, quotaKey, upstream }, events)
    const direct = () => new ChannelSession({ upstream, resolved, quotaKey, restore }, events)
    const isShared = upstream.definition.server.isolation !== 'session'
    let current: UpstreamSession = isShared
      ? bridged(this.#shared(resolved, stateless))
      : this.#refusesSessions
        ? bridged(stateless)
        : direct()
    return {
      ...forwarding(() => current),
      start: async (request) => {
        const reply = await current.start(request)
        if (!(current instanceof ChannelSession) || !(await this.#refused(current, reply, resolved)))
          return reply
        this.#refusesSessions = true
        current.close()
        current = bridged(stateless)
        return current.start(request)
      },
    }
  }

  /** A session that callers share needs the multiplexing of stateless requests. */
  #shared(resolved: Resolved, stateless: StatelessUpstream): StatelessUpstream {
    return withRequest(this.#toSession, async (call) => {
      const protocol = await this.probe.of(resolved, call.message.params)
      if (protocol instanceof Fault) return protocol
      return (protocol === 'stateless' ? stateless : this.#own.inSession).request(call)
    })
  }

  /** Whether a server refused a handshake because it is stateless. */
  async #refused(session: ChannelSession, answer: Reply | Fault, resolved: Resolved): Promise<boolean> {
    if (answer instanceof Fault) {
      // Do not wait a second time for a server that was silent.
      if (answer.kind === 'busy' || answer.kind === 'timeout' || answer.login) return false
    } else {
      if (answer.raw.error === undefined) return false
      const { upstream } = this
      // Probe the same child.
      const client = upstream.definition.transport.messages === 'lines' ? session.release() : undefined
      if (client) upstream.keepProbed(client, resolved.key)
    }
    const protocol = await this.probe.of(resolved)
    this.upstream.takeProbed(resolved.key)?.close()
    return protocol === 'stateless'
  }

  /**
   * The server as a member of an aggregate for stateless requests, bridged if it is session-based.
   * @param params of the request for which a session may be opened
   */
  async stateless(resolved: Resolved, params: JsonObject): Promise<StatelessUpstream | Fault> {
    const protocol = await this.protocol(resolved, params)
    if (protocol instanceof Fault && !protocol.login) return protocol
    return this.bridge(protocol, resolved, true)
  }

  /**
   * The server's protocol, learned once. Waits for a running start at load, and fails with it.
   * @param params of the request for which a session may be opened
   */
  async protocol(resolved: Resolved, params: JsonObject): Promise<Protocol | Fault> {
    const fault = resolved.refusal ?? (await this.#starting)
    if (fault) return fault
    const protocol = await this.probe.of(resolved, params)
    if (typeof protocol === 'string') this.#failed = undefined
    return protocol
  }

  /**
   * The server for stateless requests.
   * @param protocol a fault: unknown until the caller has logged in
   * @param keeps whether its lists are cached
   */
  bridge(protocol: Protocol | Fault, resolved: Resolved, keeps: boolean): StatelessUpstream {
    const stateless = keeps ? this.#own.kept : this.#own.stateless
    const { inSession } = this.#own
    const server =
      protocol instanceof Fault
        ? this.#shared(resolved, stateless)
        : protocol === 'stateless'
          ? stateless
          : inSession
    const { credential } = resolved
    return credential?.onLoginChange ? loginStateless(server, credential, this.upstream.name) : server
  }

  /** A session-based server's `initialize` result. */
  handshake(call: UpstreamCall): ReturnType<ToSession['handshake']> {
    return this.#toSession.handshake(call)
  }

  /**
   * Starts the server at load if configured: `preinstalled` starts and ends it, so that it is installed for the first
   * call; with `onStart` its child serves the first calls. Servers whose templates read the request are skipped.
   * @returns the failure
   */
  start(): Promise<Fault | undefined> {
    this.#started ??= this.#startAtLoad()
    return this.#started
  }

  async #startAtLoad(): Promise<Fault | undefined> {
    const { server, varies, resolve } = this.upstream.definition
    if (varies || (server.policy !== 'onStart' && !server.preinstalled)) return undefined
    const resolved = resolve({ headers: {}, query: () => ({}) })
    if (resolved instanceof Fault) return resolved
    this.#starting = server.policy === 'onStart' ? this.#warm(resolved) : this.#try(resolved)
    try {
      this.#failed = await this.#starting
    } finally {
      this.#starting = undefined
    }
    return this.#failed
  }

  /** State of the start at load: `starting`, or the failure; undefined otherwise. */
  atLoad(): 'starting' | Fault | undefined {
    return this.#starting ? 'starting' : this.#failed
  }

  /** The probed child serves the first calls; over HTTP there is nothing to keep. */
  async #warm(resolved: Resolved): Promise<Fault | undefined> {
    const protocol = await this.probe.of(resolved, {})
    if (protocol instanceof Fault) return protocol
    const kept = protocol === 'stateless' || this.upstream.definition.transport.messages === 'lines'
    return kept ? undefined : this.#try(resolved)
  }

  /** Opens and ends a session. */
  async #try(resolved: Resolved): Promise<Fault | undefined> {
    const params = initializeParams(helloOf({}))
    const request = ownRequest('initialize', params, 0)
    const events = { message() {}, lost() {}, refused() {} }
    const session = this.#open(resolved, { caller: undefined, quotaKey: '' }, events, () => [])
    const reply = await session.start(request)
    session.close()
    if (reply instanceof Fault) return reply
    return isObject(reply.raw.result) ? undefined : handshakeRefused(this.upstream.name, reply.raw)
  }

  /** Its lists, beside what clients see of them in a view. */
  declared(view: ServerView, resolved: Resolved): Promise<DeclaredList[]> {
    const kinds = (['tools', 'prompts'] as const).map(async (kind): Promise<DeclaredList> => {
      const list = { server: this.upstream.name, kind }
      const method = `${kind}/list`
      const server = await this.stateless(resolved, {})
      if (server instanceof Fault) return { ...list, fault: server.message }
      const raw = await server.request({
        message: ownRequest(method, {}, 0),
        headers: {},
        caller: undefined,
        resolved,
        signal: new Cancellation(),
        onMessage() {},
      })
      if (raw instanceof Fault) return { ...list, fault: raw.message }
      const items = isObject(raw?.result) ? raw.result[kind] : undefined
      if (!Array.isArray(items)) return { ...list, items: [] }
      return {
        ...list,
        items: items.filter(isObject).map((declared) => {
          const { result } = view.shown(method, { result: { [kind]: [declared] } })
          const seen = isObject(result) && Array.isArray(result[kind]) ? result[kind][0] : undefined
          return { declared, shown: isObject(seen) ? seen : undefined, pin: view.pinOf(kind, declared) }
        }),
      }
    })
    return Promise.all(kinds)
  }

  /** Handles a list change reported by another worker. @param key of the template values */
  listChanged(key: string, method: string): void {
    this.#kept.changed(method)
    this.#toSession.pool.listChanged(key, method)
  }

  /** Ends connections unused for `idleTimeout`. */
  sweep(): void {
    const idle = this.upstream.definition.server.idleTimeout
    this.upstream.sweep(idle)
    this.#stateless.sweep(idle)
    this.#toSession.pool.sweep(idle)
  }

  async close(): Promise<void> {
    this.#stateless.close()
    this.#toSession.close()
    await this.upstream.close()
  }
}

/** A session that passes everything to the current one. */
function forwarding(current: () => UpstreamSession): UpstreamSession {
  return {
    start: (request) => current().start(request),
    request: (...request) => current().request(...request),
    notify: (message) => current().notify(message),
    close: (keep) => current().close(keep),
    listen: () => current().listen?.(),
    resume: () => current().resume?.(),
  }
}
