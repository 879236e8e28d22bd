import { memory } from '../../access/memory.ts'
import { type JsonObject, stringify } from '../../json/index.ts'
import type { Shaping } from '../../json/shaping/index.ts'
import {
  Fault,
  isObject,
  type Message,
  ownNotification,
  ownRequest,
  type Request,
  type RequestId,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { ResumeToken } from '../transport/channel.ts'

/** A server's response, with the id of the client's request. */
export interface Reply {
  raw: JsonObject
  /** `raw` on one line; as the server sent it where nothing had to change. */
  text: string
  /** Shaping of the result, if known only to the aggregate. */
  shaping?: Shaping | undefined
}

/** Headers with the client's trace context. */
export type TraceHeaders = Readonly<Record<string, string>>

export interface RelayOptions {
  trace?: TraceHeaders
  /** Called at once when the reply is known: later messages of the server belong to other requests. */
  onReply?(): void
}

/** A client's session with one MCP server or several, whatever their revisions and transports. */
export interface UpstreamSession {
  /** Opens the session with the client's `initialize`. */
  start(request: Request): Promise<Reply | Fault>
  /** Sends a request of the client and waits for the response, also while a lost session is being reopened. */
  request(request: Request, options?: RelayOptions): Promise<Reply | Fault>
  /** Sends a notification or response of the client. */
  notify(message: Message): void
  /** @param keep whether other replicas continue the server's session, if it has a token */
  close(keep?: boolean): void
  /** With this token another replica can continue the session; absent: none can. */
  resume?(): ResumeToken | undefined
  /** Opens the server's stream of messages for a resumed session, which has none so far. */
  listen?(): void
}

export interface UpstreamSessionEvents {
  /** A request or notification of the server. */
  message(message: Message): void
  /** The server's session was lost, with the questions that it asked. */
  lost(): void
  /** The event stream was lost, and cannot be reopened at once; absent: not needed. */
  silent?(): void
  /** The server refuses the client's session, so the client must initialize again. */
  refused(): void
}

export function replyOf(raw: JsonObject): Reply {
  return { raw, text: stringify(raw) }
}

/** A reply in the server's place. */
export function resultOf(id: RequestId, result: JsonObject): Reply {
  return replyOf({ jsonrpc: '2.0', id, result })
}

/** Completes a handshake in the client's place. */
export function completeHandshake(session: Pick<UpstreamSession, 'notify'>): void {
  session.notify(ownNotification('notifications/initialized'))
}

/** Restores state in a new session; the answers are ignored. */
export function restoreIn(session: UpstreamSession, restored: readonly Restored[]): void {
  for (const { method, params } of restored)
    session.request(ownRequest(method, params)).catch(unexpected(method))
}

/** The fault of a server that refused a handshake. */
export function handshakeRefused(name: string, { error }: JsonObject): Fault {
  const said = isObject(error) && typeof error.message === 'string' ? error.message.slice(0, 300) : ''
  return new Fault('unreachable', `The server ${name} refused the handshake${said && `: ${said}`}`)
}

/** A request repeated at a restarted server. */
export interface Restored {
  method: string
  params: JsonObject
}

/** Session state set by client requests, restored if a server loses the session. */
export interface Lasting {
  remember(request: Pick<Request, 'method' | 'params'>): void
  restore(): Restored[]
  /** Releases the state, and keeps none from now on. */
  forget(): void
}

/** Whether a request changes the state of the session. */
export function setsState({ method }: Pick<Request, 'method'>): boolean {
  return /^(?:logging\/setLevel|resources\/(?:un)?subscribe)$/.test(method)
}

/** Whether a request of a lost session may be repeated, even if the first one succeeded. */
export function isRepeatable(method: string): boolean {
  return REPEATABLE.test(method)
}

const REPEATABLE =
  /^(?:ping|server\/discover|logging\/setLevel|completion\/complete|[a-z/]+\/(?:list|read|get|subscribe|unsubscribe))$/

/** Maximum resource subscriptions of one session, and characters of each URI. */
export const MAX_SUBSCRIPTIONS = 1024
const MAX_URI = 8192

/** Whether a session with `count` subscriptions may add this one. */
export function maySubscribe(count: number, uri: string): boolean {
  return count < MAX_SUBSCRIPTIONS && uri.length <= MAX_URI
}

/** The level of a `logging/setLevel`; undefined if invalid. */
export function levelOf({ level }: JsonObject): string | undefined {
  return typeof level === 'string' && level.length <= MAX_LEVEL ? level : undefined
}

/** Maximum characters of a log level; the longest, `emergency`, is shorter. */
const MAX_LEVEL = 32

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

/** Whether a log message of a level should be sent to a client that requested `asked`; undefined means none. */
export function isWanted(level: unknown, asked: unknown): boolean {
  if (asked === undefined) return false
  const found = LEVELS.indexOf(String(level))
  // Unknown levels are always sent.
  return found < 0 || found >= LEVELS.indexOf(String(asked))
}

export function createLasting(): Lasting {
  let level: string | undefined
  const subscribed = new Set<string>()
  /** Memory for the URIs, which clients choose. */
  const held = memory.queue()
  return {
    remember({ method, params }) {
      if (method === 'logging/setLevel') level = levelOf(params)
      const uri = String(params.uri)
      if (method === 'resources/subscribe' && !subscribed.has(uri)) {
        if (maySubscribe(subscribed.size, uri) && held.add(uri.length)) subscribed.add(uri)
      } else if (method === 'resources/unsubscribe' && subscribed.delete(uri)) held.free(uri.length)
    },
    restore: () => [
      ...(level === undefined ? [] : [{ method: 'logging/setLevel', params: { level } }]),
      ...[...subscribed].map((uri) => ({ method: 'resources/subscribe', params: { uri } })),
    ],
    forget() {
      subscribed.clear()
      held.close()
    },
  }
}
