import type { Limits } from '../config/model.ts'
import { Fault } from '../mcp/index.ts'
import { Backoff } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { type Mask, maskOf, streamMaskOf } from '../tools/mask.ts'
import type { Restored } from './backend/session-state.ts'
import type { Definition, Resolved } from './definition.ts'
import { createLink, type Link, type LinkEvents } from './rpc/link.ts'
import { createToolFilter, type ToolFilter } from './tools.ts'
import { type Channel, type ChannelEvents, FAILED } from './transport/channel.ts'
import { createHttp, type Http } from './transport/http.ts'
import { openSseChannel } from './transport/sse.ts'
import { openStdio } from './transport/stdio.ts'
import { openStreamable } from './transport/streamable.ts'

export interface UpstreamContext {
  /** The gateway's environment. */
  env: Readonly<Record<string, string | undefined>>
  /** Of the process; the server's own go before them. */
  limits: Limits
  log: Logger
}

/** Milliseconds of silence after which a call is given up, unless `limits.timeout` of the server says otherwise. */
const SILENCE = 300_000

/** One MCP server that is proxied, with all its connections. */
export interface Upstream {
  readonly name: string
  readonly definition: Definition
  readonly filter: ToolFilter | undefined
  readonly http: Http
  readonly limits: Limits
  readonly backoff: Backoff
  /** Live sessions with the server. */
  size(): number
  /** @param sharer whose session it is; undefined: it is kept for whoever comes */
  open(resolved: Resolved, events: ChannelEvents, sharer: string | undefined): Channel | Fault
  link(resolved: Resolved, events: LinkEvents, restore: () => Restored[], sharer: string | undefined): Link
  /** Process ids of its children. */
  pids(): number[]
  /** Ends every connection and child; resolves when nothing is left. */
  close(): Promise<void>
}

/** @param makeRoom ends a session that nobody uses, if there is one that makes room for somebody's */
export function createUpstream(
  definition: Definition,
  { env, limits: processLimits, log }: UpstreamContext,
  makeRoom: (sharer: string | undefined) => boolean,
): Upstream {
  const { server } = definition
  const limits: Limits = { ...processLimits, timeout: SILENCE, ...server.limits }
  const { secrets } = definition
  // The stream of SSE names an address, which stays as it is: its messages are masked one by one.
  const masked = secrets.length > 0 && server.type === 'streamable-http'
  const http = createHttp({
    ...limits,
    ...(masked && { mask: streamMaskOf(secrets), maskText: maskOf(secrets) }),
  })
  const backoff = new Backoff()
  const live = new Map<Channel, number | undefined>()
  const ending = new Set<Promise<void>>()
  const mask: Mask = secrets.length > 0 ? maskOf(secrets) : (text) => text
  const options = { env, maxMessage: limits.maxResponseSize, log, mask }

  function open(resolved: Resolved, events: ChannelEvents, sharer: string | undefined): Channel | Fault {
    if (live.size >= server.maxSessions && !makeRoom(sharer))
      return new Fault(
        'busy',
        `All ${server.maxSessions} sessions with the server ${server.name} are in use (maxSessions): try again later`,
      )
    const forget = () => live.delete(channel)
    const failed = unexpected(`a message of the server ${server.name}`, () => {
      channel.close()
      events.closed(new Fault('internal', `${FAILED} in the session with the server ${server.name}`))
    })
    const watched: ChannelEvents = {
      message: (message, text) => attempt(failed, () => events.message(message, text)),
      rejected: (id, fault) => attempt(failed, () => events.rejected(id, fault)),
      closed(fault) {
        forget()
        attempt(failed, () => events.closed(fault))
      },
    }
    const inner = connect(resolved, watched)
    const channel: Channel = {
      ...inner,
      close() {
        forget()
        inner.close()
      },
    }
    live.set(channel, 'pid' in inner ? (inner.pid as number | undefined) : undefined)
    const ended = inner.ended.catch(failed).finally(() => {
      forget()
      ending.delete(ended)
    })
    ending.add(ended)
    return channel
  }

  function connect(resolved: Resolved, events: ChannelEvents): Channel {
    if (server.type === 'stdio') return openStdio(definition, resolved, events, options)
    if (server.type === 'sse') return openSseChannel(definition, resolved, events, { http, ...options })
    return openStreamable(definition, resolved, events, { http, ...options })
  }

  return {
    name: server.name,
    definition,
    filter: createToolFilter(server),
    http,
    limits,
    backoff,
    size: () => live.size,
    open,
    link(resolved, events, restore, sharer) {
      const { startupTimeout, name } = server
      return createLink(
        {
          open: (inner) => open(resolved, inner, sharer),
          restore,
          startupTimeout,
          name,
          backoff,
          key: resolved.key,
        },
        events,
      )
    },
    pids: () => [...live.values()].filter((pid) => pid !== undefined),
    async close() {
      for (const channel of [...live.keys()]) channel.close()
      await Promise.all(ending)
      await http.close()
    },
  }
}

/** Runs a handler of what comes from outside; what it throws ends the session, and nothing else. */
function attempt(failed: (error: unknown) => void, handler: () => void): void {
  try {
    handler()
  } catch (error) {
    failed(error)
  }
}
