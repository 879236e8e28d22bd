import { setImmediate } from 'node:timers/promises'
import { type Hold, memory } from '../../access/memory.ts'
import { type CancelSignal, Fault, type FaultKind } from '../../mcp/index.ts'
import {
  type AnswerFilter,
  HttpClient,
  type NetFault,
  type NetFaultKind,
  type StreamedAnswer,
} from '../../net/index.ts'
import { type Mask, maskedHeaders, type StreamMask } from '../../tools/mask.ts'
import type { Resolved } from '../definition.ts'

export interface HttpOptions {
  connectTimeout: number
  /** Milliseconds until an answer begins. */
  timeout: number
  /** Makes a mask that takes the server's secrets out of an answer. */
  mask?: () => StreamMask
  /** The same for the values of headers. */
  maskText?: Mask
}

export interface HttpRequest {
  method: 'GET' | 'POST' | 'DELETE'
  headers: Record<string, string>
  body?: string
  signal?: CancelSignal
  /** Holds a short answer, which comes in one piece; absent: until it is there. */
  hold?: Hold
}

export type HttpAnswer = StreamedAnswer

/** Connections to the upstreams of one proxy. */
export interface Http {
  send(resolved: Resolved, request: HttpRequest): Promise<HttpAnswer | Fault>
  close(): Promise<void>
}

/** Origins may come from templates, so their number is bounded. */
const MAX_ORIGINS = 64
/** Milliseconds that servers have to answer the end of their sessions. */
const FAREWELL = 1_000

export function createHttp({ connectTimeout, timeout, mask, maskText }: HttpOptions): Http {
  const client = new HttpClient({
    connectTimeout,
    headersTimeout: timeout,
    // Streams stay open for as long as sessions do.
    maxSockets: null,
    maxOrigins: MAX_ORIGINS,
    hold: () => memory.hold(),
  })
  /** Sessions that are being ended. */
  const leaving = new Set<Promise<unknown>>()
  const filter = (): AnswerFilter | undefined => {
    if (!mask) return undefined
    const { push, end } = mask()
    return { headers: (headers) => (maskText ? maskedHeaders(headers, maskText) : headers), push, end }
  }
  const failed = (fault: NetFault) => faultOf(fault, timeout)

  return {
    send({ origin, path, headers: own }, { method, headers, body, signal, hold }) {
      const request = {
        method,
        origin,
        path,
        headers: { ...headers, ...own },
        ...(body !== undefined && { body }),
      }
      const sent = client.open(request, { signal, hold, filter: filter() }, failed)
      if (method === 'DELETE') {
        leaving.add(sent)
        const left = () => leaving.delete(sent)
        sent.then(left, left)
      }
      return sent
    },
    async close() {
      // Servers hear of the end of their sessions, unless they take long.
      const late = new Promise((resolve) => setTimeout(resolve, FAREWELL).unref())
      if (leaving.size) await Promise.race([Promise.all(leaving), late])
      await client.close()
    },
  }
}

/** Reads a body of at most `limit` bytes; undefined when it is larger, or there is no room for it. @throws when it ends early */
export async function readText({ whole, body }: HttpAnswer, limit: number): Promise<string | undefined> {
  if (whole) return whole.length > limit ? undefined : whole.toString('utf8')
  const chunks: Buffer[] = []
  const hold = memory.hold()
  let size = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length
      // Leaving the loop ends the body.
      if (size > limit || !hold.add(chunk.length)) return undefined
      chunks.push(chunk)
    }
    return Buffer.concat(chunks, size).toString('utf8')
  } finally {
    hold.free()
  }
}

/** Throws a body away; a short one was read already, and its connection is used again. */
export function discard({ whole, body }: HttpAnswer): void {
  if (!whole) body.on('error', () => {}).destroy()
}

/** Milliseconds of one turn of the event loop for the pieces of one body. */
const SLICE = 10

/** The pieces of a body. @throws when it ends early */
export async function* piecesOf({ whole, body }: HttpAnswer): AsyncGenerator<Buffer> {
  if (whole) {
    yield whole
    return
  }
  let spent = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    const started = performance.now()
    yield piece
    spent += performance.now() - started
    // Pieces that have come already would all be taken in one turn of the event loop.
    if (spent < SLICE) continue
    await setImmediate()
    spent = 0
  }
}

/** The media type of an answer, in lower case and without parameters. */
export function mediaType({ headers }: HttpAnswer): string {
  const type = headers['content-type']
  // The rest is for those who write it otherwise.
  if (type === 'application/json' || type === 'text/event-stream') return type
  return String(type ?? '')
    .split(';', 1)[0]!
    .trim()
    .toLowerCase()
}

const KINDS: Readonly<Record<NetFaultKind, FaultKind>> = {
  name: 'unreachable',
  refused: 'unreachable',
  unreachable: 'unreachable',
  proxy: 'unreachable',
  tls: 'unreachable',
  'connect-timeout': 'unreachable',
  timeout: 'timeout',
  cancelled: 'cancelled',
  closed: 'lost',
  ended: 'lost',
  protocol: 'invalid',
  headers: 'invalid',
  encoding: 'invalid',
  'too-large': 'invalid',
  'no-room': 'busy',
  request: 'refused',
  other: 'unreachable',
}

function faultOf({ kind, host, message }: NetFault, timeout: number): Fault {
  const text = kind === 'timeout' ? `No response from ${host} within ${timeout / 1000} s` : message
  return new Fault(KINDS[kind], text)
}
