import type { JsonObject } from '../../json/index.ts'
import type { Shaping } from '../../json/shaping/index.ts'
import { Fault, isObject, type Message, messageOf, type Request } from '../../mcp/index.ts'
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
  start(request: Request, text: string): Promise<Reply | Fault>
  /**
   * Sends a request of the client and waits for the response, also while a lost session is being reopened.
   * @param text of the request
   */
  request(request: Request, text: string, options?: RelayOptions): Promise<Reply | Fault>
  /** Sends a notification or response of the client. */
  notify(message: Message, text: string): void
  /** @param keep whether other replicas continue the server's session, if it has a token */
  close(keep?: boolean): void
  /** With this token another replica can continue the session; absent: none can. */
  resume?(): ResumeToken | undefined
  /** Opens the server's stream of messages for a resumed session, which has none so far. */
  listen?(): void
}

export interface UpstreamSessionEvents {
  /** A request or notification of the server. */
  message(message: Message, text: string): void
  /** The server's session was lost, with the questions that it asked. */
  lost(): void
  /** The event stream was lost, and cannot be reopened at once; absent: not needed. */
  silent?(): void
  /** The server refuses the client's session, so the client must initialize again. */
  refused(): void
}

/** Completes a handshake. */
export const INITIALIZED = '{"method":"notifications/initialized","jsonrpc":"2.0"}'

/** A notification of the gateway; its text is passed separately. */
export function noted(method: string): Message {
  return { kind: 'notification', method, params: {}, raw: messageOf(method) }
}

/** The fault of a server that refused a handshake. */
export function handshakeRefused(name: string, { error }: JsonObject): Fault {
  const said = isObject(error) && typeof error.message === 'string' ? error.message.slice(0, 300) : ''
  return new Fault('unreachable', `The server ${name} refused the handshake${said && `: ${said}`}`)
}
