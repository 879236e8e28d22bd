import type { Ticket } from '../../cluster/index.ts'
import {
  allowsBatches,
  type Door,
  type Exchange,
  Fault,
  INTERNAL_ERROR,
  openGet,
  rpcError,
  type Session,
  type SessionRevision,
} from '../../mcp/index.ts'
import { createSeveralLink } from '../aggregate/session.ts'
import type { Definition, Resolved } from '../definition.ts'
import { UpstreamServer } from '../pool/server.ts'
import type { McpProxy, ProxyContext } from '../types.ts'
import { type BytesSession, createBytes } from './bytes.ts'
import { type Call, callLog } from './call-log.ts'
import {
  type Backend,
  type Opened,
  type ProxySession,
  serveProxy,
  serveProxyMessage,
  serveProxySse,
} from './front.ts'
import { createUnderWay } from './in-flight.ts'
import { createRelay } from './relay.ts'
import { reviverOf } from './revive.ts'
import { createSessions } from './sessions.ts'
import { createStandAlone } from './stand-alone.ts'

/** Characters of a server's session id that a client can carry in its own: proxies take headers of 4 or 8 KiB. */
const MAX_CARRIED = 1024
/** Milliseconds that calls under way have to end when a server is replaced. */
const DRAIN = 30_000

/** Makes the proxy of a router; nothing is started before `start` or a first request. */
export function createProxy(definitions: readonly Definition[], context: ProxyContext): McpProxy {
  const { log, prefix, tenant, named, version } = context
  const owner = {}
  const onCall: (call: Call) => void = callLog(log, { tenant, prefix }, context.onCall)
  const underWay = createUnderWay(onCall)
  const sessions = createSessions(Math.min(...definitions.map(({ server }) => server.idleTimeout)), sweep)
  const members = definitions.map((definition) => new UpstreamServer(definition, context, sessions.occupants))
  const [only] = named ? [] : members
  const info = { name: prefix.replace(/^\//, '') || 'plantgw', version }
  const timeout = Math.max(...members.map(({ upstream }) => upstream.limits.timeout))
  let retired = false
  const server = only?.upstream.definition.server
  /** Whether messages of sessions pass as bytes. */
  const isBytes = server?.type === 'streamable-http' && server.isolation === 'session'
  /** Whether they do in one of this revision: a batch has to be taken apart where tools are filtered. */
  const passes = (revision: SessionRevision) => isBytes && !(only?.upstream.filter && allowsBatches(revision))
  const varies = definitions.some((definition) => definition.varies)

  function sweep(idle: number): void {
    for (const member of members) member.sweep(idle)
  }
  function onClash(uri: string, server: string): void {
    log.warn(
      { tenant, prefix, server, uri: uri.slice(0, 200) },
      'two servers have this resource: the first is served',
    )
  }
  function onDown(server: string, reason: string): void {
    log.warn({ tenant, prefix, server, reason }, 'a server of this prefix is down: its tools are hidden')
  }

  function onDropped(): void {
    log.warn({ tenant, prefix }, 'messages for a client without an open stream were lost (maxQueued)')
  }

  /** The templates of every server, for one caller. */
  function resolve(exchange: Exchange): Resolved[] | Fault {
    const all: Resolved[] = []
    for (const { upstream } of members) {
      const resolved = upstream.definition.resolve(exchange)
      if (resolved instanceof Fault) return resolved
      all.push(resolved)
    }
    return all
  }

  function keyOf(exchange: Exchange): string | undefined {
    const resolved = resolve(exchange)
    return resolved instanceof Fault ? undefined : resolved.map(({ key }) => key).join()
  }

  /** @param ticket of a server's session that another replica opened */
  function attach(
    door: Door,
    session: Session,
    exchange: Exchange,
    sse: boolean,
    ticket?: Ticket,
  ): ProxySession | Fault {
    if (retired) return new Fault('busy', 'The server is being replaced: try again')
    const resolved = resolve(exchange)
    if (resolved instanceof Fault) return resolved
    const values = resolved
    const key = resolved.map((each) => each.key).join()
    const end = () => door.hub.endSession(session)
    let draining: NodeJS.Timeout | undefined
    let over: () => void = () => {}
    const ended = new Promise<void>((resolve) => {
      over = resolve
    })
    const onIdle = () => {
      if (draining && !made.busy()) made.release()
    }
    const bytes = isBytes && !sse
    let current = bytes
      ? bytesSession(session, resolved[0] as Resolved, exchange.replicas !== undefined)
      : relaySession(door, session, resolved)
    if (ticket) current.resume?.(ticket.upstream)
    const made: ProxySession = {
      owner,
      sse,
      busy: () => current.busy() || made.former?.busy() === true,
      // Whoever is known by a credential may have another one by now.
      admits: (exchange) => !varies || door.caller !== undefined || keyOf(exchange) === key,
      end() {
        made.release()
        made.former?.end()
      },
      carries() {
        const carried = current.carries?.()
        return carried && (carried.upstream ?? '').length <= MAX_CARRIED ? { ...carried, key } : undefined
      },
      leave: () => current.leave?.(),
      release() {
        sessions.remove(made)
        clearTimeout(draining)
        // Other replicas ask this one, once a server knows its session no more.
        if (retired && session.owner === undefined) current.leave?.()
        current.end()
        over()
      },
      drain() {
        draining ??= setTimeout(made.release, DRAIN)
        current.quiet?.()
        if (!current.busy()) made.release()
        return Promise.all([ended, made.former?.drain()]).then(() => {})
      },
      async initialize(exchange, request, text) {
        const opened = await openBy(() => current.initialize(exchange, request, text))
        if (opened.ok) made.handshake = { request, text }
        return opened
      },
      async adopt(handshake, restored) {
        const opened = await openBy(() => current.adopt(handshake, restored))
        if (opened.ok) made.handshake = handshake
        return opened
      },
      restore: () => current.restore(),
      awaits: (message) => current.awaits?.(message) ?? message.kind !== 'request',
      post: (exchange, messages, form) => current.post(exchange, messages, form),
      get: (exchange) => current.get(exchange),
      take: (exchange, messages, text) => current.take?.(exchange, messages, text),
    }
    sessions.add(made, session, end)
    return made

    async function openBy(open: () => Promise<Opened>): Promise<Opened> {
      const opened = await open()
      if (!bytes) return opened
      // A server of 2026-07-28 alone refuses every handshake: messages are bridged instead.
      const unfit = opened.ok
        ? !passes(session.revision)
        : (await only?.probe.of(values[0] as Resolved)) === 'stateless'
      if (!unfit) return opened
      current.leave?.()
      current = relaySession(door, session, values)
      return open()
    }

    function bytesSession(session: Session, resolved: Resolved, shared: boolean): Inner {
      const { definition, http, filter, limits } = members[0]!.upstream
      const maxMessage = limits.maxResponseSize
      const { timeout } = limits
      const options = { session, definition, resolved, http, filter, maxMessage, timeout, shared }
      return createBytes({ ...options, onCall, onIdle })
    }

    function relaySession({ hub }: Door, session: Session, resolved: Resolved[]): Inner {
      const filter = only?.upstream.filter
      const relay = createRelay({ session, hub, timeout, filter, onCall, onDropped, onIdle })
      const branches = members.map((member, i) => ({
        name: member.upstream.name,
        filter: member.upstream.filter,
        open: (events: typeof relay.events) =>
          member.link(resolved[i] as Resolved, session, events, only ? relay.restore : () => []),
      }))
      const open = () =>
        only
          ? branches[0]!.open(relay.events)
          : createSeveralLink({ branches, info, onClash, onDown }, relay.events)
      return {
        busy: relay.busy,
        end: relay.close,
        initialize: (_exchange, request, text) => relay.initialize(open(), request, text),
        adopt: (handshake, restored) => relay.adopt(open(), handshake, restored),
        restore: relay.restore,
        awaits: relay.awaits,
        post: relay.post,
        take: relay.take,
        get(exchange) {
          const response = openGet(exchange, door, session)
          const stream = session.streams.at(-1)
          if (stream) relay.flush(stream)
          return response
        },
      }
    }
  }
  type Inner = Pick<
    ProxySession,
    'busy' | 'end' | 'initialize' | 'adopt' | 'restore' | 'post' | 'get' | 'take'
  > &
    Partial<Pick<ProxySession, 'awaits'> & Pick<BytesSession, 'resume' | 'carries' | 'quiet' | 'leave'>>

  const answer = createStandAlone({ members, only, info, resolve, begin: underWay.begin, onClash, onDown })
  const stateless: Backend['stateless'] = (exchange, request, ...rest) => {
    if (retired) {
      const replaced = { code: INTERNAL_ERROR, message: 'The server is being replaced: try again' }
      return Promise.resolve(rpcError(exchange, 503, replaced, request.id))
    }
    sessions.watch()
    const answered = answer(exchange, request, ...rest)
    underWay.until(answered)
    return answered
  }

  function backend(door: Door): Backend {
    return {
      owner,
      stateless,
      attach: (session, exchange, sse) => attach(door, session, exchange, sse),
      revive: reviverOf(door, { owner, passes, keyOf, attach }),
    }
  }

  let closed: Promise<unknown> | undefined
  async function close(): Promise<void> {
    retired = true
    sessions.close()
    closed ??= Promise.all(members.map((member) => member.close()))
    await closed
  }

  return {
    serveMcp: (exchange, door) => serveProxy(exchange, door, backend(door)),
    serveSse: (exchange, door, messagePath) => serveProxySse(exchange, door, backend(door), messagePath),
    serveMessage: (exchange, door) => serveProxyMessage(exchange, door, backend(door)),
    status() {
      const connections = members.reduce((sum, { upstream }) => sum + upstream.size(), 0)
      const faults = members.flatMap(({ upstream }) => upstream.backoff.faults())
      const open = connections + sessions.size() > 0
      return {
        servers: members.map(({ upstream }) => upstream.name),
        state: faults.length ? 'failing' : open ? 'connected' : 'idle',
        sessions: sessions.size(),
        connections,
        pids: members.flatMap(({ upstream }) => upstream.pids()),
        ...(faults.length && { faults }),
      }
    },
    start: async () => (await Promise.all(members.map((member) => member.start()))).flat(),
    async retire() {
      retired = true
      await Promise.all([sessions.drain(), underWay.over(DRAIN)])
      await close()
    },
    close,
  }
}
