import type { Readable } from 'node:stream'
import type { CancelSignal } from './cancel.ts'
import type { Guard } from './guard.ts'
import type { ClientTls } from './tls-files.ts'

/** Counts bytes that are held against a limit; of `access/memory`. */
export interface ByteReservation {
  /** Reserves more bytes; returns false, and reserves nothing, if they do not fit. */
  add(bytes: number): boolean
  /** Changes the reservation to this size; returns whether it fits. */
  replace(bytes: number): boolean
  free(): void
}

/** A request as it goes over the wire. */
export interface HttpRequest {
  method: string
  /** Scheme, host and port. */
  origin: string
  /** Path and query, ASCII. */
  path: string
  /** Names and values in turn, or by name. */
  headers: string[] | Record<string, string>
  body?: string | Buffer
}

/** Names in lower case. */
export type AnswerHeaders = Record<string, string | string[] | undefined>

/** An answer that was read to its end. */
export interface HttpAnswer {
  status: number
  reason: string
  headers: AnswerHeaders
  body: Buffer
}

/** An answer: `whole` if it is short and ends at once, otherwise `body` as a stream. */
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

/** How the author of a configuration wants a server to be connected to. */
export interface Connection {
  proxy?: ProxyAddress | undefined
  /** TLS settings for the server, also through a proxy. Absent: the authorities of Node.js, no client certificate. */
  tls?: ClientTls | undefined
}

/** How the connection of a request is made. */
export interface ConnectOptions extends Connection {
  /** Milliseconds. Default: the client's. */
  connectTimeout?: number | undefined
  /** Judges the addresses that are connected to. Absent: all are good. */
  guard?: Guard | undefined
}

export interface FetchOptions extends ConnectOptions {
  /** Milliseconds for the whole answer. */
  timeout: number
  /** When that time began, of `performance.now()`. Default: now. */
  begin?: number
  /** Bytes of the answer's body at most, decoded. */
  maxSize: number
  /** Whether the request is never repeated, although its method is safe. Default false. */
  once?: boolean
  signal?: CancelSignal | undefined
  /** Has the bytes of the answer; absent: they are not counted. */
  reservation?: ByteReservation | undefined
}

export interface OpenOptions extends ConnectOptions {
  /** Milliseconds of silence in a body that is no event stream. Default: the client's. */
  bodyTimeout?: number
  signal?: CancelSignal | undefined
  /** Has the bytes of an answer in one piece; absent: one of the client's own, until the answer is there. */
  reservation?: ByteReservation | undefined
  /** Transforms the client's view of the answer. */
  filter?: AnswerFilter | undefined
}

/** Takes secrets out of an answer. */
export interface AnswerFilter {
  headers(headers: AnswerHeaders): AnswerHeaders
  /** @returns bytes to pass on; the rest is held until more bytes arrive, or `end` */
  push(chunk: Buffer): Buffer
  end(): Buffer
}

export interface HttpClientOptions {
  /** Path of the Unix socket for every connection, whatever the origin. */
  socketPath?: string
  /** Milliseconds to open a connection, for requests that say nothing else. Default 10 s. */
  connectTimeout?: number
  /** Milliseconds until an answer begins. Default 0: none. */
  headersTimeout?: number
  /** Milliseconds of silence in the body of a streamed answer that is no event stream. Default 0: no limit. */
  bodyTimeout?: number
  /** Connections of one origin; further requests wait for one. Null: no limit. Default 1200. */
  maxSockets?: number | null
  /** Maximum origins with open connections; beyond it the least recently used one is closed. Default 256. */
  maxOrigins?: number
  /** Makes what holds an answer that comes in one piece. */
  reservation?: () => ByteReservation
}
