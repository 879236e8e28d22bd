import type { Limits } from '../config/model.ts'
import { type Door, type Exchange, INTERNAL_ERROR, openGet, rpcError, type Session } from '../mcp/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { createBytes } from './bytes.ts'
import { type Call, callLog } from './call-log.ts'
import type { Definition, Resolved } from './definition.ts'
import {
  type Backend,
  type Opened,
  type ProxySession,
  serveProxy,
  serveProxyMessage,
  serveProxySse,
} from './front.ts'
import type { Fault } from './link.ts'
import { createMember } from './member.ts'
import { forwardStateless } from './modern-bytes.ts'
import { createRelay } from './relay.ts'
import { createSessions } from './sessions.ts'
import { createSeveralLink } from './several-link.ts'
import { severalStateless } from './several-stateless.ts'
import { startMember } from './start.ts'
import { serveStateless } from './stateless.ts'

export interface ProxyContext {
  /** The gateway's environment, of which children see very little. */
  env: Readonly<Record<string, string | undefined>>
  /** Of the process; a server's own go before them. */
  limits: Limits
  log: Logger
  /** For the log. */
  prefix: string
  tenant: string
  version: string
  /** Whether names of tools and prompts tell their server, as with a list of servers. */
  named: boolean
}

/** What stands behind a prefix whose router names MCP servers. It holds processes and connections: close it. */
export interface McpProxy {
  serveMcp(exchange: Exchange, door: Door): Promise<Response>
  serveSse(exchange: Exchange, door: Door, messagePath: string): Response
  serveMessage(exchange: Exchange, door: Door): Promise<Response>
  status(): { servers: string[]; sessions: number; connections: number; pids: number[] }
  /** Starts what `policy` and `preinstalled` say; faults are sentences. */
  start(): Promise<string[]>
  /** Takes no new sessions; ends each when no call of it is under way, then closes. */
  retire(): Promise<void>
  /** Ends every session, connection and child; resolves when nothing is left. */
  close(): Promise<void>
}

/** Milliseconds that calls under way have to end when a server is replaced. */
const DRAIN = 30_000

/** Makes the proxy of a router; nothing is started before `start` or a first request. */
export function createProxy(definitions: readonly Definition[], context: ProxyContext): McpProxy {
  const { log, prefix, tenant, named, version } = context
  const owner = {}
  const onCall: (call: Call) => void = callLog(log, { tenant, prefix })
  const sessions = createSessions(Math.min(...definitions.map(({ server }) => server.idleTimeout)), sweep)
  const members = definitions.map((definition) => createMember(definition, context, sessions.makeRoom))
  const [only] = named ? [] : members
  const info = { name: prefix.replace(/^\//, '') || 'plantgw', version }
  const timeout = Math.max(...members.map(({ upstream }) => upstream.limits.timeout))
  let retired = false
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

  /** The templates of every server, for one caller. */
  function resolve(exchange: Exchange): Resolved[] | Fault {
    const all: Resolved[] = []
    for (const { upstream } of members) {
      const resolved = upstream.definition.resolve(exchange)
      if ('fault' in resolved) return resolved
      all.push(resolved)
    }
    return all
  }

  function keyOf(exchange: Exchange): string | undefined {
    const resolved = resolve(exchange)
    return 'fault' in resolved ? undefined : resolved.map(({ key }) => key).join()
  }

  function attach(door: Door, session: Session, exchange: Exchange, sse: boolean): ProxySession | Fault {
    if (retired) return { fault: 'The server is being replaced: try again', busy: true }
    const resolved = resolve(exchange)
    if ('fault' in resolved) return resolved
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
    const server = only?.upstream.definition.server
    const bytes = server?.type === 'streamable-http' && server.isolation === 'session' && !sse
    let current = bytes
      ? bytesSession(session, resolved[0] as Resolved)
      : relaySession(door, session, resolved)
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
      release() {
        sessions.remove(made)
        clearTimeout(draining)
        current.end()
        over()
      },
      drain() {
        draining ??= setTimeout(made.release, DRAIN)
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
      if (opened.ok || !bytes || (await only?.eras.of(values[0] as Resolved)) !== 'modern') return opened
      // A server of 2026-07-28 alone refuses every handshake: messages are bridged instead.
      current = relaySession(door, session, values)
      return open()
    }

    function bytesSession(session: Session, resolved: Resolved): Inner {
      const { definition, http, filter, limits } = members[0]!.upstream
      const maxMessage = limits.maxResponseSize
      const { timeout } = limits
      return createBytes({ session, definition, resolved, http, filter, maxMessage, timeout, onCall, onIdle })
    }

    function relaySession({ hub, caller }: Door, session: Session, resolved: Resolved[]): Inner {
      const filter = only?.upstream.filter
      const relay = createRelay({ session, hub, timeout, filter, onCall, onIdle })
      const branches = members.map((member, i) => ({
        name: member.upstream.name,
        filter: member.upstream.filter,
        open: (events: typeof relay.events) =>
          member.link(resolved[i] as Resolved, caller, events, only ? relay.restore : () => []),
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
    Partial<Pick<ProxySession, 'awaits'>>

  async function stateless(...[exchange, request, text, door, form]: Parameters<Backend['stateless']>) {
    const refuse = ({ fault, busy }: Fault) =>
      rpcError(exchange, busy ? 503 : 200, { code: INTERNAL_ERROR, message: fault }, request.id)
    if (retired) return refuse({ fault: 'The server is being replaced: try again', busy: true })
    const resolved = resolve(exchange)
    if ('fault' in resolved) return refuse(resolved)
    sessions.watch()
    const [first] = resolved as [Resolved]
    if (!only) {
      const branches = await Promise.all(
        members.map(async ({ upstream: { name, filter }, stateless }, i) => {
          const server = await stateless(resolved[i] as Resolved)
          if ('fault' in server) onDown(name, server.fault)
          return { name, filter, resolved: resolved[i] as Resolved, server }
        }),
      )
      const server = severalStateless(branches, info, onClash)
      return serveStateless(exchange, request, door, form, first, server, { filter: undefined, onCall })
    }
    const { upstream, eras } = only
    const asked = eras.of(first)
    // A promise costs each call a turn, so what is known is not awaited.
    const era = asked instanceof Promise ? await asked : asked
    if (era === 'modern' && upstream.definition.server.type === 'streamable-http')
      return forwardStateless(exchange, request, text, first, upstream, { onCall })
    if (typeof era !== 'string') return refuse(era)
    const server = only.bridge(era)
    const { filter } = upstream
    return serveStateless(exchange, request, door, form, first, server, { filter, onCall })
  }

  function backend(door: Door): Backend {
    return { owner, stateless, attach: (session, exchange, sse) => attach(door, session, exchange, sse) }
  }

  async function close(): Promise<void> {
    retired = true
    sessions.close()
    await Promise.all(members.map((member) => member.close()))
  }

  return {
    serveMcp: (exchange, door) => serveProxy(exchange, door, backend(door)),
    serveSse: (exchange, door, messagePath) => serveProxySse(exchange, door, backend(door), messagePath),
    serveMessage: (exchange, door) => serveProxyMessage(exchange, door, backend(door)),
    status: () => ({
      servers: members.map(({ upstream }) => upstream.name),
      sessions: sessions.size(),
      connections: members.reduce((sum, { upstream }) => sum + upstream.size(), 0),
      pids: members.flatMap(({ upstream }) => upstream.pids()),
    }),
    start: async () => (await Promise.all(members.map(startMember))).flat(),
    async retire() {
      retired = true
      await sessions.drain()
      await close()
    },
    close,
  }
}
