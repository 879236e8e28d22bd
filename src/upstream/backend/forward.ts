import { memory } from '../../access/memory.ts'
import {
  carries,
  type Exchange,
  errorText,
  event,
  Fault,
  INTERNAL_ERROR,
  json,
  type RequestId,
  tooMuch,
} from '../../mcp/index.ts'

import { discard, type HttpAnswer, mediaType, readText } from '../transport/http.ts'

/** What of a client's headers an upstream gets; credentials go there only by a template. */
const SENT = [
  'accept',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'traceparent',
  'tracestate',
  'baggage',
]
/** What of an upstream's headers a client gets. */
const RETURNED = [
  'content-type',
  'cache-control',
  'x-accel-buffering',
  'retry-after',
  'allow',
  'mcp-protocol-version',
]
const BODILESS = new Set([202, 204, 205, 304])

export function forwardedHeaders({
  headers,
  method,
}: Pick<Exchange, 'headers' | 'method'>): Record<string, string> {
  const sent: Record<string, string> = {}
  // A charset that the client names could make the server read another message than the one that was judged.
  if (method === 'POST') sent['content-type'] = 'application/json'
  for (const name of SENT) {
    const value = headers[name]
    if (value !== undefined) sent[name] = value
  }
  for (const name in headers)
    if (name.startsWith('mcp-param-') && headers[name] !== undefined) sent[name] = headers[name]
  return sent
}

export interface ForwardOptions {
  /** Which request it answers, if it answers one. */
  id: RequestId | null
  server: string
  /** Whether a refusal of credentials concerns the caller's own. */
  forwardsAuthorization: boolean
  maxResponseSize: number
  /** Milliseconds of silence after which an answer is given up; undefined for what may be silent. */
  timeout: number | undefined
  headers?: Record<string, string>
  /** Runs when the whole answer is out, or the client is gone. */
  onEnd: () => void
}

/** Passes an upstream's answer on, byte for byte; what is no answer of an MCP server becomes an error that says so. */
export function forwardAnswer(exchange: Exchange, answer: HttpAnswer, options: ForwardOptions): Response {
  const { statusCode: status, headers } = answer
  const refused = refusal(answer, options)
  if (refused !== undefined) {
    discard(answer)
    options.onEnd()
    return json(exchange, errorText(options.id, { code: INTERNAL_ERROR, message: refused }), 502)
  }
  const returned: Record<string, string> = { ...exchange.replyHeaders, ...options.headers }
  for (const name of RETURNED) {
    const value = headers[name]
    if (value !== undefined) returned[name] = String(value)
  }
  const challenge = refusedCaller(answer, options.server, options.forwardsAuthorization)?.challenge
  if (challenge !== undefined) returned['www-authenticate'] = challenge
  if (BODILESS.has(status)) {
    discard(answer)
    options.onEnd()
    return new Response(null, { status, headers: returned })
  }
  if (Number(headers['content-length']) > options.maxResponseSize) {
    discard(answer)
    options.onEnd()
    const message = 'The answer of the server is larger than maxResponseSize'
    return json(exchange, errorText(options.id, { code: INTERNAL_ERROR, message }), 502)
  }
  const { whole } = answer
  if (!whole) return new Response(webStream(answer, options), { status, headers: returned })
  options.onEnd()
  if (!carries(exchange, whole.length)) return tooMuch(exchange, 'maxBuffered', options.id)
  return new Response(completed(whole, answer, options), { status, headers: returned })
}

/** Events that hold no answer to the request get an error for one. */
function completed(whole: Buffer, answer: HttpAnswer, { id, server }: ForwardOptions): Buffer {
  if (id === null || mediaType(answer) !== 'text/event-stream') return whole
  const watch = answerWatch(id)
  watch.see(whole)
  if (!watch.missing()) return whole
  const message = `The server ${server} ended the call without an answer`
  return Buffer.concat([whole, Buffer.from(`\n\n${event(errorText(id, { code: INTERNAL_ERROR, message }))}`)])
}

/** Why a server's refusal of credentials concerns the caller, whose own they are; undefined when it does not. */
export function refusedCaller(
  { statusCode: status, headers }: HttpAnswer,
  server: string,
  forwardsAuthorization: boolean,
): Fault | undefined {
  if (!forwardsAuthorization || (status !== 401 && status !== 403)) return undefined
  const challenge = headers['www-authenticate']
  const details = { status, ...(challenge !== undefined && { challenge: String(challenge) }) }
  return new Fault('credentials', `The server ${server} refused the credentials`, details)
}

/** Why an answer is none of an MCP server; undefined when it is one. */
export function refusal(
  answer: HttpAnswer,
  { id, server, forwardsAuthorization }: Pick<ForwardOptions, 'id' | 'server' | 'forwardsAuthorization'>,
): string | undefined {
  const { statusCode: status, headers, whole } = answer
  const type = mediaType(answer)
  const coding = headers['content-encoding'] ?? 'identity'
  // It was not asked for, and its bytes hold no messages that could be watched for.
  if (coding !== 'identity')
    return `The server ${server} compressed its answer (${coding}), for which it was not asked`
  if (id !== null && status < 300) {
    // Nothing was answered, which a client would wait for or take as success (2025-11-25, Sending Messages).
    if (BODILESS.has(status) || whole?.length === 0 || headers['content-length'] === '0')
      return `The server ${server} ended the call without an answer (${status})`
    if (type !== 'application/json' && type !== 'text/event-stream')
      return `The server ${server} answered with ${type || 'no media type'} instead of JSON: is its url that of an MCP endpoint?`
  }
  if (status === 401 || status === 403)
    return forwardsAuthorization
      ? undefined
      : `The server ${server} refused the gateway's credentials (${status})`
  if (status >= 300 && status < 400) return `The server ${server} answered with a redirect (${status})`
  if (
    id !== null &&
    status >= 400 &&
    status < 500 &&
    type !== 'application/json' &&
    status !== 401 &&
    status !== 403
  )
    return `The server ${server} refused the call (${status})`
  if (status >= 500 && type !== 'application/json') return `The server ${server} failed (${status})`
  return undefined
}

/** Bytes that wait for a client, before its server is asked to wait as well. */
const HIGH_WATER = 256 * 1024

/** A body as a stream for the client, at the client's pace; events that end without an answer get an error for one. */
function webStream(
  answer: HttpAnswer,
  { id, server, timeout, onEnd }: ForwardOptions,
): ReadableStream<Uint8Array> {
  const { body } = answer
  const watch = id !== null && mediaType(answer) === 'text/event-stream' ? answerWatch(id) : undefined
  let timer: NodeJS.Timeout | undefined
  let over = false
  let whole = true
  let empty = true
  /** What the client has not taken. */
  const queued = memory.hold()
  const count = ({ desiredSize }: ReadableStreamDefaultController) =>
    queued.set(over ? 0 : HIGH_WATER - (desiredSize ?? HIGH_WATER))
  const end = () => {
    if (!over) onEnd()
    queued.free()
    over = true
    clearTimeout(timer)
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const close = (reason: string) => {
          if (over) return
          if (empty && id !== null && !watch)
            controller.enqueue(Buffer.from(errorText(id, { code: INTERNAL_ERROR, message: reason })))
          if (watch?.missing())
            // A broken event is ended first, so that the error does not become a part of it.
            controller.enqueue(
              Buffer.from(
                (whole ? '' : '\n\n') + event(errorText(id, { code: INTERNAL_ERROR, message: reason })),
              ),
            )
          controller.close()
          end()
        }
        if (watch && timeout !== undefined)
          timer = setTimeout(() => {
            close(`The server ${server} said nothing of this call for ${timeout / 1000} s`)
            body.destroy()
          }, timeout)
        body.on('data', (chunk: Buffer) => {
          if (over) return
          timer?.refresh()
          empty = false
          watch?.see(chunk)
          whole = /(\n\n|\r\n\r\n)$/.test(chunk.subarray(-4).toString('latin1'))
          controller.enqueue(chunk)
          count(controller)
          if ((controller.desiredSize ?? 0) <= 0 || memory.pressed) body.pause()
        })
        const early = () => close(`The server ${server} ended the call without an answer`)
        body.on('end', early)
        body.on('error', early)
      },
      pull(controller) {
        count(controller)
        if (!memory.pressed || !queued.size) body.resume()
      },
      cancel() {
        end()
        body.destroy()
      },
    },
    { highWaterMark: HIGH_WATER, size: (chunk) => chunk.byteLength },
  )
}

/** Bytes at the end of a piece that are looked at again with the next one. */
const OVERLAP = 300

/**
 * Watches for the answer in events that pass as bytes, without reading them: an `id` like the request's is
 * taken for it. A stream whose events have ids is one that the client can resume elsewhere.
 */
function answerWatch(id: RequestId): { see(chunk: Buffer): void; missing(): boolean } {
  const value = typeof id === 'string' ? JSON.stringify(id) : String(id)
  let found = false
  let rest = Buffer.from('\n')
  return {
    see(chunk) {
      if (found) return
      const all = Buffer.concat([rest, chunk])
      found = names(all, `"id":${value}`) || names(all, `"id": ${value}`) || all.includes('\nid:')
      rest = all.subarray(-OVERLAP)
    },
    missing: () => !found,
  }
}

/** Whether bytes hold a key with its number or text, and not a longer number. */
function names(bytes: Buffer, member: string): boolean {
  for (let at = bytes.indexOf(member); at >= 0; at = bytes.indexOf(member, at + 1)) {
    const next = bytes[at + member.length] ?? 0
    if (next < 0x30 || next > 0x39) return true
  }
  return false
}

/** The JSON-RPC messages of an answer that is read whole. */
export async function readMessages(
  answer: HttpAnswer,
  limit: number,
  server: string,
): Promise<{ texts: string[] } | Fault> {
  let text: string | undefined
  try {
    text = await readText(answer, limit)
  } catch {
    return new Fault('lost', `The server ${server} closed the connection in the middle of its answer`)
  }
  if (text === undefined)
    return new Fault('invalid', 'The answer of the server is larger than maxResponseSize')
  if (mediaType(answer) !== 'text/event-stream') return { texts: text.trim() ? [text] : [] }
  const texts: string[] = []
  for (const block of text.split(/\r\n\r\n|\n\n|\r\r/)) {
    const data = block
      .split(/\r\n|\n|\r/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(line[5] === ' ' ? 6 : 5))
    if (data.join('')) texts.push(data.join('\n'))
  }
  return { texts }
}
