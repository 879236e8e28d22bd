import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'hono'
import { HttpResponse } from '../access/http-response.ts'
import { type MemoryReservation, parsedSize } from '../access/memory.ts'
import { type LimitName, limitReached, RETRY_AFTER } from '../access/refusals.ts'
import type { Body, RequestHeaders } from './context.ts'
import { type Fault, httpStatusOf } from './fault.ts'
import { errorText, INTERNAL_ERROR, INVALID_REQUEST, type RequestId, type RpcError } from './protocol.ts'

/** Node's request and response, if available: reading them avoids web objects. */
export interface NodePair {
  incoming?: IncomingMessage
  outgoing?: ServerResponse
}

export function nodePair({ env }: Pick<Context, 'env'>): NodePair {
  return (env as NodePair | undefined) ?? {}
}

/** The headers of a request, from Node if available. */
export function headersOf(c: Context): RequestHeaders {
  const { incoming } = nodePair(c)
  return incoming ? (incoming.headers as RequestHeaders) : Object.fromEntries(c.req.raw.headers)
}

/** Reads at most `limit` bytes, and charges them to `reservation`. */
export function readBody(c: Context, limit: number, reservation: MemoryReservation): Promise<Body> {
  const { incoming } = nodePair(c)
  if (incoming) return readIncoming(incoming, limit, reservation)
  return readWhole(c.req.raw.body ?? [], (_bytes, size) => size <= limit).then(
    (bytes) => (bytes ? bodyOf(bytes, reservation) : { failure: 'too-large' }),
    () => ({ failure: 'aborted' }),
  )
}

/** @param reservation already includes the bytes */
function bodyOf(bytes: Buffer, reservation: MemoryReservation): Body {
  if (!reservation.add(parsedSize(bytes) - bytes.length)) return { failure: 'no-room' }
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { failure: 'not-utf8' }
}

function readIncoming(
  incoming: IncomingMessage,
  limit: number,
  reservation: MemoryReservation,
): Promise<Body> {
  return new Promise((resolve) => {
    if (Number(incoming.headers['content-length']) > limit) return resolve({ failure: 'too-large' })
    const chunks: Buffer[] = []
    let size = 0
    let refused = false
    incoming.on('data', (chunk: Buffer) => {
      if (refused) return
      size += chunk.length
      refused = size > limit || !reservation.add(chunk.length)
      if (!refused) chunks.push(chunk)
      else resolve({ failure: size > limit ? 'too-large' : 'no-room' })
    })
    incoming.on('end', () => {
      if (!refused) resolve(bodyOf(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), reservation))
    })
    // Node emits `error` only to listeners, but always `close` after it.
    incoming.on('close', () => {
      if (!incoming.complete) resolve({ failure: 'aborted' })
    })
  })
}

/**
 * Reads bytes to their end; undefined once `fits` refuses.
 * @param fits whether `bytes` more fit, for a total of `size`
 * @throws if the body breaks off
 */
export async function readWhole(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  fits: (bytes: number, size: number) => boolean,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (!fits(chunk.length, size)) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Clients may retry after a 503. */
const RETRY = { 'retry-after': RETRY_AFTER }
const JSON_TYPE = { 'content-type': 'application/json' }
const STREAM_TYPE = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // Prevents reverse proxies from buffering events (2026-07-28, Receiving Messages).
  'x-accel-buffering': 'no',
}

export function json(text: string, status = 200, headers?: Record<string, string>): HttpResponse {
  const later = status === 503 ? RETRY : undefined
  return new HttpResponse(status, { ...JSON_TYPE, ...later, ...headers }, text)
}

export function rpcError(
  status: number,
  error: RpcError,
  id: RequestId | null = null,
  headers?: Record<string, string>,
): HttpResponse {
  return json(errorText(id, error), status, headers)
}

export function tooMuch(limit: LimitName, id: RequestId | null = null): HttpResponse {
  return rpcError(503, { code: INTERNAL_ERROR, message: limitReached(limit) }, id)
}

export function eventStream(
  body: ReadableStream<Uint8Array> | string,
  headers?: Record<string, string>,
): HttpResponse {
  return new HttpResponse(200, { ...STREAM_TYPE, ...headers }, body)
}

/** The answer to a POST in the form that the client accepts. */
export function reply(text: string, form: AnswerForm, headers?: Record<string, string>): HttpResponse {
  return form === 'json' ? json(text, 200, headers) : eventStream(event(text), headers)
}

/** The answer for a failed request. */
export function faultResponse(
  fault: Fault,
  id: RequestId | null,
  status: number = httpStatusOf(fault),
): HttpResponse {
  const { message, challenge } = fault
  const headers = challenge === undefined ? undefined : { 'www-authenticate': challenge }
  return rpcError(status, { code: INTERNAL_ERROR, message }, id, headers)
}

export function notAcceptable(types: string): HttpResponse {
  return rpcError(406, { code: INVALID_REQUEST, message: `The Accept header must allow ${types}` })
}

export function accepted(): HttpResponse {
  return new HttpResponse(202, { 'content-length': '0' })
}

export function methodNotAllowed(method: string, allow: string): HttpResponse {
  const message = `Method ${method} is not allowed here; use ${allow}`
  return rpcError(405, { code: INVALID_REQUEST, message }, null, { allow })
}

/** One message as a server-sent event. @param id if the client may resume */
export function event(text: string, name = 'message', id?: string): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}`
  // A line break would end the `data` field.
  const data = /[\r\n]/.test(text) ? text.split(/\r\n|\r|\n/).join('\ndata: ') : text
  return `${head}event: ${name}\ndata: ${data}\n\n`
}

export type AnswerForm = 'json' | 'stream'

/** `Accept` as MCP clients send it (Streamable HTTP, Sending Messages). */
const EVERY_FORM = 'application/json, text/event-stream'

/** Form of the answer to a POST: JSON if accepted; undefined: neither form is. */
export function acceptedForm(accept: string | undefined): AnswerForm | undefined {
  if (accept === undefined || accept === EVERY_FORM) return 'json'
  if (takes(accept, 'application', 'json')) return 'json'
  if (takes(accept, 'text', 'event-stream')) return 'stream'
  return undefined
}

/** Whether a client accepts server-sent events. */
export function takesEvents(accept: string | undefined): boolean {
  return accept === undefined || accept === EVERY_FORM || takes(accept, 'text', 'event-stream')
}

/** Whether an `Accept` value includes the media type, also by a range (RFC 9110, 12.5.1). */
export function takes(accept: string, type: string, subtype: string): boolean {
  return accept.split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    if (parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter))) return false
    return name === `${type}/${subtype}` || name === `${type}/*` || name === '*/*'
  })
}
