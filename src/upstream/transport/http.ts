import { StringDecoder } from 'node:string_decoder'
import { setImmediate } from 'node:timers/promises'
import { type Hold, memory } from '../../access/memory.ts'
import { type CancelSignal, Fault, type FaultKind } from '../../mcp/index.ts'
import {
  eventParser,
  HttpClient,
  type NetFault,
  type NetFaultKind,
  type ServerEvent,
  type StreamedAnswer,
} from '../../net/index.ts'
import { type Mask, maskedHeaders, type StreamMask } from '../../tools/mask.ts'
import type { Resolved } from '../definition.ts'

export interface HttpOptions {
  /** Milliseconds. */
  connectTimeout: number
  /** Milliseconds until an answer begins. */
  timeout: number
  /** Makes what takes the server's secrets out of an answer. */
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

/** Origins may come from templates, so their number is bounded; the one longest unused is closed. */
const MAX_ORIGINS = 64
/** Milliseconds that servers have to answer the end of their sessions. */
const FAREWELL = 1_000

/** Connections to the addresses of one server. */
export class Http {
  readonly #client: HttpClient
  readonly #options: HttpOptions
  /** Sessions that are being ended. */
  readonly #leaving = new Set<Promise<unknown>>()

  constructor(options: HttpOptions) {
    const { connectTimeout, timeout } = options
    this.#options = options
    // Streams stay open for as long as sessions do, so that their number has no limit here.
    this.#client = new HttpClient({
      connectTimeout,
      headersTimeout: timeout,
      maxSockets: null,
      maxOrigins: MAX_ORIGINS,
      hold: () => memory.hold(),
    })
  }

  /** Sends one request: the way of every message to a server over HTTP. */
  send({ origin, path, headers: own }: Resolved, request: HttpRequest): Promise<HttpAnswer | Fault> {
    const { method, headers, body, signal, hold } = request
    const { mask, maskText, timeout } = this.#options
    const filter =
      mask && maskText
        ? { ...mask(), headers: (given: HttpAnswer['headers']) => maskedHeaders(given, maskText) }
        : undefined
    const sent = this.#client.open(
      { origin, path, method, headers: { ...headers, ...own }, ...(body !== undefined && { body }) },
      { signal, hold, filter },
      (fault) => faultOf(fault, timeout),
    )
    if (method === 'DELETE') {
      this.#leaving.add(sent)
      const left = () => this.#leaving.delete(sent)
      sent.then(left, left)
    }
    return sent
  }

  async close(): Promise<void> {
    // Servers hear of the end of their sessions, unless they take long.
    const late = new Promise((resolve) => setTimeout(resolve, FAREWELL).unref())
    if (this.#leaving.size) await Promise.race([Promise.all(this.#leaving), late])
    await this.#client.close()
  }
}

const KINDS: Partial<Record<NetFaultKind, FaultKind>> = {
  timeout: 'timeout',
  cancelled: 'cancelled',
  'no-room': 'busy',
  closed: 'lost',
  ended: 'lost',
  protocol: 'invalid',
  headers: 'invalid',
  'too-large': 'invalid',
  encoding: 'invalid',
  request: 'refused',
}

function faultOf({ kind, host, message }: NetFault, timeout: number): Fault {
  const text = kind === 'timeout' ? `No response from ${host} within ${timeout / 1000} s` : message
  return new Fault(KINDS[kind] ?? 'unreachable', text)
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
async function* piecesOf({ whole, body }: HttpAnswer): AsyncGenerator<Buffer> {
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

/**
 * Reads an answer of JSON, or of events, text by text; an answer that ends early just ends.
 * @param limit bytes of one text
 * @param take may return true to stop
 */
export async function readAnswer(
  answer: HttpAnswer,
  limit: number,
  take: (data: string, event: string) => unknown,
  tooLarge: () => void,
): Promise<void> {
  const unfinished = memory.hold()
  let stopped = false
  try {
    if (mediaType(answer) === 'text/event-stream') {
      const onEvent = ({ data, event }: ServerEvent) => {
        if (take(data, event) === true) stopped = true
      }
      const parse = eventParser(limit, onEvent, tooLarge, unfinished)
      const decoder = new StringDecoder('utf8')
      for await (const chunk of piecesOf(answer)) {
        parse(decoder.write(chunk))
        if (stopped) break
      }
    } else {
      const text = await readText(answer, limit)
      if (text === undefined) tooLarge()
      else take(text, 'message')
    }
  } catch {
    // Whatever is still awaited reveals that the answer ended early.
  } finally {
    unfinished.free()
  }
}
