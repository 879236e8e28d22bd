import type { Readable } from 'node:stream'
import type { CancelSignal } from './cancel.ts'
import type { Guard } from './guard.ts'
import type { ClientTls } from './tls-files.ts'

/** Counts held bytes against a limit. Implemented in `access/memory`. */
export interface ByteReservation {
  /** Reserves more bytes; returns false, and reserves nothing, if they do not fit. */
  add(bytes: number): boolean
  /** Changes the reservation to this size; returns whether it fits. */
  replace(bytes: number): boolean
  free(): void
}

/** A request in the form in which it is sent. */
export interface HttpRequest {
  method: string
  /** Scheme, host and port. */
  origin: string
  /** Path and query, ASCII. */
  path: string
  /** Names and values alternately, or values by name. */
  headers: string[] | Record<string, string>
  body?: string | Buffer
}

/** Values by name in lower case. */
export type AnswerHeaders = Record<string, string | string[] | undefined>

/** An answer that was read to its end. */
export interface HttpAnswer {
  status: number
  reason: string
  headers: AnswerHeaders
  body: Buffer
}

/** An answer: `whole` for a short body that ends at once, otherwise the stream `body`. */
export interface StreamedAnswer {
  status: number
  headers: AnswerHeaders
  whole: Buffer | undefined
  body: Readable
}

export interface ProxyAddress {
  type: 'http' | 'https' | 'socks5'
  host: string
  port: number
  /** User name for the proxy, together with `password`. */
  username?: string | undefined
  password?: string | undefined
}

/** Connection settings of a server in its configuration. */
export interface Connection {
  proxy?: ProxyAddress | undefined
  /** TLS settings for the server, even behind a proxy. Default: the authorities of Node.js, no client certificate. */
  tls?: ClientTls | undefined
}

/** Connection settings of a request. */
export interface ConnectOptions extends Connection {
  /** Milliseconds. Default: the client's. */
  connectTimeout?: number | undefined
  /** Checks the target addresses. Absent: every address is allowed. */
  guard?: Guard | undefined
}

export interface FetchOptions extends ConnectOptions {
  /** Milliseconds for the whole answer. */
  timeout: number
  /** Start of that time on the clock `performance.now()`. Default: now. */
  begin?: number
  /** Maximum decoded bytes of the answer's body. */
  maxSize: number
  /** Whether the request is never repeated, although its method is safe. Default false. */
  once?: boolean
  signal?: CancelSignal | undefined
  /** Counts the bytes of the answer; absent: they are not counted. */
  reservation?: ByteReservation | undefined
}

export interface OpenOptions extends ConnectOptions {
  /** Milliseconds of silence in a body that is no event stream. Default: the client's. */
  bodyTimeout?: number
  signal?: CancelSignal | undefined
  /** Counts the bytes of an answer in one piece. Default: the client's reservation, freed once the answer is complete. */
  reservation?: ByteReservation | undefined
  /** Transforms the client's view of the answer. */
  filter?: AnswerFilter | undefined
}

/** Removes secrets from an answer. */
export interface AnswerFilter {
  headers(headers: AnswerHeaders): AnswerHeaders
  /** @returns bytes to pass on; holds the rest until more bytes arrive, or until `end` */
  push(chunk: Buffer): Buffer
  end(): Buffer
}

export interface HttpClientOptions {
  /** Path of a Unix socket, which every connection uses instead of its origin's address. */
  socketPath?: string
  /** Milliseconds to open a connection, unless the request sets its own. Default 10,000. */
  connectTimeout?: number
  /** Milliseconds until an answer begins. Default 0: no limit. */
  headersTimeout?: number
  /** Milliseconds of silence in the body of a streamed answer that is no event stream. Default 0: no limit. */
  bodyTimeout?: number
  /** Maximum connections of one origin; further requests wait. Null: no limit. Default 1200. */
  maxSockets?: number | null
  /** Maximum pools of connections; a further pool closes the least recently used one. Default 256. */
  maxOrigins?: number
  /** Creates the reservation of an answer in one piece. */
  reservation?: () => ByteReservation
}
