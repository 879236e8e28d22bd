import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { type Dispatcher, Pool } from 'undici'
import { type Hold, memory } from '../../access/memory.ts'
import { type CancelSignal, Fault } from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { type Mask, maskedHeaders, type StreamMask } from '../../tools/mask.ts'
import type { Resolved } from '../definition.ts'

export interface HttpOptions {
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

/** An answer: in one piece when it said how long it is and is short, else its body as it comes. */
export interface HttpAnswer {
  statusCode: number
  /** Names in lower case. */
  headers: Record<string, string | string[] | undefined>
  whole: Buffer | undefined
  body: Readable
}

/** Connections to the upstreams of one proxy. */
export interface Http {
  send(resolved: Resolved, request: HttpRequest): Promise<HttpAnswer | Fault>
  close(): Promise<void>
}

/** Origins may come from templates, so their number is bounded; the one longest unused is closed. */
const MAX_ORIGINS = 64
/** Milliseconds that servers have to answer the end of their sessions. */
const FAREWELL = 1_000

export function createHttp({ connectTimeout, timeout, mask, maskText }: HttpOptions): Http {
  const pools = new Map<string, Pool>()
  /** Sessions that are being ended. */
  const leaving = new Set<Promise<unknown>>()

  function poolOf(origin: string): Pool {
    const known = pools.get(origin)
    if (known && pools.size === 1) return known
    // Streams stay open for as long as sessions do, so neither their time nor their number has a limit here.
    const pool =
      known ??
      new Pool(origin, {
        connections: null,
        headersTimeout: timeout,
        bodyTimeout: 0,
        connect: { timeout: connectTimeout },
      })
    pools.delete(origin)
    pools.set(origin, pool)
    if (pools.size > MAX_ORIGINS) {
      const [oldest, unused] = pools.entries().next().value as [string, Pool]
      pools.delete(oldest)
      unused.close().catch(unexpected('the end of a connection pool'))
    }
    return pool
  }

  return {
    send({ origin, path, headers: own }, { method, headers, body, signal, hold }) {
      const options = { path, method, headers: { ...headers, ...own }, body: body ?? null }
      const sent = new Promise<HttpAnswer | Fault>((resolve) => {
        const fail = (error: Error) => resolve(faultOf(error, origin, timeout))
        const handler = answerHandler(signal, hold, resolve, fail, mask?.(), maskText)
        // An address or a header that cannot be sent throws.
        try {
          poolOf(origin).dispatch(options, handler)
        } catch (error) {
          handler.onResponseError?.(undefined as never, error as Error)
        }
      })
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
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
    },
  }
}

/** An answer that says how long it is, and is not longer than this, is taken in one piece. */
const MAX_WHOLE = 1024 * 1024
const NOTHING = Readable.from([])

/** Leaner than undici's own `request`, which makes a stream of every body. */
function answerHandler(
  signal: CancelSignal | undefined,
  given: Hold | undefined,
  resolve: (answer: HttpAnswer) => void,
  fail: (error: Error) => void,
  mask: StreamMask | undefined,
  maskText: Mask | undefined,
): Dispatcher.DispatchHandler {
  let controller: Dispatcher.DispatchController | undefined
  let answer: HttpAnswer | undefined
  let body: Readable | undefined
  let chunks: Buffer[] | undefined
  const stop = () => controller?.abort(new CancelledError())
  const hold = given ?? memory.hold()
  const over = () => {
    signal?.removeEventListener('abort', stop)
    if (!given) hold.free()
  }
  signal?.addEventListener('abort', stop)
  return {
    onRequestStart(started) {
      controller = started
      if (signal?.aborted) stop()
    },
    onResponseStart(started, statusCode, headers) {
      if (statusCode < 200) return
      const length = Number(headers['content-length'] ?? (statusCode === 204 ? 0 : Number.NaN))
      const shown = maskText ? maskedHeaders(headers, maskText) : headers
      answer = { statusCode, headers: shown, whole: undefined, body: NOTHING }
      if (length <= MAX_WHOLE) {
        chunks = []
        return
      }
      body = new Readable({
        read: () => started.resume(),
        destroy(error, done) {
          // An upstream that ended by itself can't be aborted, and need not be.
          if (!body?.readableEnded) started.abort(error ?? new CancelledError())
          done(error)
        },
      })
      resolve({ ...answer, body })
    },
    onResponseData(started, received) {
      const chunk = mask ? mask.push(received) : received
      if (chunks) {
        if (hold.add(chunk.length)) chunks.push(chunk)
        else started.abort(new NoRoomError())
      } else if (body && !body.push(chunk)) started.pause()
    },
    onResponseEnd() {
      over()
      const held = mask?.end()
      if (held?.length) (chunks ?? body)?.push(held)
      if (body) body.push(null)
      else if (answer && chunks)
        resolve({ ...answer, whole: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) })
    },
    onResponseError(_controller, error) {
      over()
      if (!body) fail(error)
      else if (!body.destroyed) body.destroy(error)
    },
  }
}

class NoRoomError extends Error {
  override name = 'NoRoomError'
}

class CancelledError extends Error {
  override name = 'AbortError'
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

function faultOf(error: unknown, origin: string, timeout: number): Fault {
  const { code, name, message } = error as NodeJS.ErrnoException
  const inner = (error as AggregateError).errors?.[0] as NodeJS.ErrnoException | undefined
  const cause = code ?? inner?.code
  if (name === 'AbortError') return new Fault('cancelled', 'The call was cancelled')
  if (name === 'NoRoomError')
    return new Fault('busy', 'The gateway has reached a limit (maxBuffered): try again later')
  if (cause === 'ECONNREFUSED') return new Fault('unreachable', `The server at ${origin} refuses connections`)
  if (cause === 'ENOTFOUND' || cause === 'EAI_AGAIN')
    return new Fault('unreachable', `There is no host of the name in ${origin}`)
  if (cause === 'UND_ERR_CONNECT_TIMEOUT')
    return new Fault('unreachable', `The server at ${origin} could not be reached in time`)
  if (cause === 'UND_ERR_HEADERS_TIMEOUT')
    return new Fault('timeout', `The server at ${origin} did not begin to answer within ${timeout / 1000} s`)
  if (cause === 'UND_ERR_SOCKET' || cause === 'ECONNRESET' || cause === 'EPIPE')
    return new Fault('lost', `The server at ${origin} closed the connection without an answer`)
  if (cause === 'UND_ERR_DESTROYED' || cause === 'UND_ERR_CLOSED')
    return new Fault(
      'lost',
      `The call was cut off: the gateway is ending, or the server at ${origin} was replaced in its configuration`,
    )
  return new Fault('unreachable', `The server at ${origin} could not be asked: ${cause ?? message}`)
}
