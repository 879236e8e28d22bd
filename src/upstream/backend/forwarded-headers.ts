import { memory } from '../../access/memory.ts'
import {
  type CallEnd,
  carries,
  type Exchange,
  errorText,
  event,
  Fault,
  INTERNAL_ERROR,
  json,
  outcomeOf,
  type RequestId,
  tooMuch,
} from '../../mcp/index.ts'

import { TOO_LARGE } from '../transport/channel.ts'
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
  onEnd: OnEnd
}

/** Runs when the whole answer is out, or the client is gone. */
export type OnEnd = (end: CallEnd) => void

/** How a call ended that has no answer. */
export function endFault(fault: Fault): CallEnd {
  return { outcome: outcomeOf(fault), failure: fault.message }
}

/** How a call ended whose answer is not read: of errors only those are seen that HTTP or an `isError` tells. */
function endOfBytes(status: number, hasError: boolean): CallEnd {
  return status >= 400 || hasError ? { outcome: 'tool_error' } : { outcome: 'ok' }
}

const IS_ERROR = '"isError":true'

/** Passes an upstream's answer on, byte for byte; what is no answer of an MCP server becomes an error that says so. */
export function forwardAnswer(exchange: Exchange, answer: HttpAnswer, options: ForwardOptions): Response {
  const { status, headers } = answer
  const { id, onEnd } = options
  const fail = (fault: Fault) => {
    discard(answer)
    onEnd(endFault(fault))
    return json(exchange, errorText(id, { code: INTERNAL_ERROR, message: fault.message }), 502)
  }
  const refused = refusal(answer, options)
  if (refused) return fail(refused)
  const returned: Record<string, string> = { ...exchange.replyHeaders }
  for (const name of RETURNED) {
    const value = headers[name]
    if (value !== undefined) returned[name] = String(value)
  }
  const challenge = refusedCaller(answer, options.server, options.forwardsAuthorization)?.challenge
  if (challenge !== undefined) returned['www-authenticate'] = challenge
  if (BODILESS.has(status)) {
    discard(answer)
    onEnd(endOfBytes(status, false))
    return new Response(null, { status, headers: returned })
  }
  if (Number(headers['content-length']) > options.maxResponseSize) return fail(TOO_LARGE)
  const { whole } = answer
  if (!whole) return new Response(new PassedBody(answer, options).stream, { status, headers: returned })
  const { bytes, end } = completed(whole, answer, options)
  onEnd(end)
  if (!carries(exchange, bytes.length)) return tooMuch(exchange, 'maxBuffered', id)
  return new Response(bytes, { status, headers: returned })
}

/** An answer in one piece; events that hold no answer to the request get an error for one. */
function completed(whole: Buffer, answer: HttpAnswer, { id, server }: ForwardOptions) {
  const watch = id !== null && mediaType(answer) === 'text/event-stream' ? answerWatch(id) : undefined
  watch?.see(whole)
  const end = endOfBytes(answer.status, whole.includes(IS_ERROR))
  if (!watch?.missing()) return { bytes: whole, end }
  const fault = noAnswer(server)
  const error = event(errorText(id, { code: INTERNAL_ERROR, message: fault.message }))
  return { bytes: Buffer.concat([whole, Buffer.from(`\n\n${error}`)]), end: endFault(fault) }
}

function noAnswer(server: string): Fault {
  return new Fault('lost', `The server ${server} ended the call without an answer`)
}

/** Why a server's refusal of credentials concerns the caller, whose own they are; undefined when it does not. */
export function refusedCaller(
  { status, headers }: HttpAnswer,
  server: string,
  forwardsAuthorization: boolean,
): Fault | undefined {
  if (!forwardsAuthorization || (status !== 401 && status !== 403)) return undefined
  const challenge = headers['www-authenticate']
  const details = { status, ...(challenge !== undefined && { challenge: String(challenge) }) }
  return new Fault('credentials', `The server ${server} refused the credentials`, details)
}

/** Why an answer is not one of an MCP server; undefined when it is. */
export function refusal(
  answer: HttpAnswer,
  { id, server, forwardsAuthorization }: Pick<ForwardOptions, 'id' | 'server' | 'forwardsAuthorization'>,
): Fault | undefined {
  const { status, headers, whole } = answer
  const type = mediaType(answer)
  const coding = headers['content-encoding'] ?? 'identity'
  // Its bytes hold no messages that could be watched for.
  if (coding !== 'identity')
    return new Fault('invalid', `The server ${server} sent an unrequested Content-Encoding (${coding})`)
  if (id !== null && status < 300) {
    // A client would wait for an answer, or take none as success (2025-11-25, Sending Messages).
    if (BODILESS.has(status) || whole?.length === 0 || headers['content-length'] === '0')
      return new Fault('invalid', `The server ${server} ended the call without an answer (${status})`)
    if (type !== 'application/json' && type !== 'text/event-stream') {
      const sent = type || 'no media type'
      const message = `The server ${server} answered with ${sent} instead of JSON: is its url that of an MCP endpoint?`
      return new Fault('invalid', message)
    }
  }
  const refused = (what: string) =>
    new Fault('status', `The server ${server} ${what} (${status})`, { status })
  if (status === 401 || status === 403) {
    const message = `The server ${server} refused the gateway's credentials (${status})`
    return forwardsAuthorization ? undefined : new Fault('credentials', message, { status })
  }
  if (status >= 300 && status < 400) return refused('answered with a redirect')
  if (type === 'application/json') return undefined
  if (status >= 500) return refused('failed')
  return id !== null && status >= 400 ? refused('refused the call') : undefined
}

/** Bytes that wait for a client, before its server is asked to wait as well. */
const HIGH_WATER = 256 * 1024

/** A body as a stream for the client, at the client's pace; events that end without an answer get an error for one. */
class PassedBody {
  readonly stream: ReadableStream<Uint8Array>
  private controller!: ReadableStreamDefaultController<Uint8Array>
  private readonly watch: ReturnType<typeof answerWatch> | undefined
  private timer: NodeJS.Timeout | undefined
  private over = false
  /** Whether the last event has ended. */
  private whole = true
  private empty = true
  private hasError = false
  /** Bytes that the client has not taken. */
  private readonly queued = memory.hold()

  constructor(
    private readonly answer: HttpAnswer,
    private readonly options: ForwardOptions,
  ) {
    const { id, timeout } = options
    if (id !== null && mediaType(answer) === 'text/event-stream') this.watch = answerWatch(id)
    if (this.watch && timeout !== undefined) this.timer = setTimeout(() => this.expire(timeout), timeout)
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => this.start(controller),
        pull: () => {
          this.count()
          if (!memory.pressed || !this.queued.size) answer.body.resume()
        },
        cancel: () => {
          const { watch } = this
          this.end(watch?.missing() ? { outcome: 'cancelled' } : endOfBytes(answer.status, this.hasError))
          answer.body.destroy()
        },
      },
      { highWaterMark: HIGH_WATER, size: (chunk) => chunk.byteLength },
    )
  }

  private start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { body } = this.answer
    this.controller = controller
    const early = () => this.close(noAnswer(this.options.server))
    body.on('data', (chunk: Buffer) => this.take(chunk))
    body.on('end', early)
    body.on('error', early)
  }

  private take(chunk: Buffer): void {
    if (this.over) return
    this.timer?.refresh()
    this.empty = false
    this.watch?.see(chunk)
    this.hasError ||= chunk.includes(IS_ERROR)
    this.whole = /(\n\n|\r\n\r\n)$/.test(chunk.subarray(-4).toString('latin1'))
    this.controller.enqueue(chunk)
    this.count()
    if ((this.controller.desiredSize ?? 0) <= 0 || memory.pressed) this.answer.body.pause()
  }

  private expire(timeout: number): void {
    const { server } = this.options
    const message = `No response from the server ${server} for ${timeout / 1000} s; the call timed out`
    this.close(new Fault('timeout', message))
    this.answer.body.destroy()
  }

  /** The body has ended. @param fault why there is no answer, where there is none */
  private close(fault: Fault): void {
    if (this.over) return
    const { id } = this.options
    const error = errorText(id, { code: INTERNAL_ERROR, message: fault.message })
    const missing = this.watch ? this.watch.missing() : this.empty && id !== null
    // A broken event is ended first, so that the error does not become a part of it.
    if (missing)
      this.controller.enqueue(Buffer.from(this.watch ? (this.whole ? '' : '\n\n') + event(error) : error))
    this.controller.close()
    this.end(missing ? endFault(fault) : endOfBytes(this.answer.status, this.hasError))
  }

  private end(end: CallEnd): void {
    if (!this.over) this.options.onEnd(end)
    this.queued.free()
    this.over = true
    clearTimeout(this.timer)
  }

  private count(): void {
    const { desiredSize } = this.controller
    this.queued.set(this.over ? 0 : HIGH_WATER - (desiredSize ?? HIGH_WATER))
  }
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
  if (text === undefined) return TOO_LARGE
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
