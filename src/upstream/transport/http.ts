import { StringDecoder } from 'node:string_decoder'
import { memory } from '../../access/memory.ts'
import type { Limits } from '../../config/model.ts'
import { afterRefusal, type Credential, type SentHeader } from '../../credentials/credential.ts'
import type { JsonObject } from '../../json/index.ts'
import {
  type CancelSignal,
  Fault,
  type FaultKind,
  isObject,
  type RequestId,
  type Response,
  readWhole,
} from '../../mcp/index.ts'
import { visibleLine } from '../../mcp/visible.ts'
import {
  type Connection,
  eventParser,
  type Guards,
  HttpClient,
  NetFault,
  type NetFaultKind,
  type Resilience,
  type ServerEvent,
  type StreamedAnswer,
  type StreamPosition,
} from '../../net/index.ts'
import { paced } from '../../text/index.ts'
import { type Mask, maskedHeaders, type StreamMask } from '../../tools/mask.ts'
import type { Definition, Resolved } from '../definition.ts'
import { idAmong, readData, timedOut, tooLarge, withId } from './channel.ts'

export interface HttpOptions {
  /** Name of the server. */
  name: string
  /** Milliseconds. */
  connectTimeout: number
  /** Milliseconds until an answer begins, and of silence in one that is not an event stream. */
  timeout: number
  /** Masks the server's secrets in an answer. @param sent values sent by the request's credential */
  masks?: (sent: readonly string[]) => AnswerMasks | undefined
  /** Default headers of each request. */
  headers?: Readonly<Record<string, string>>
  connection?: Connection | undefined
  /** Checks outbound connections; absent: every address is allowed. */
  guards?: Guards | undefined
  /** Retries and circuit breaker for messages; absent: none. */
  resilience?: Resilience | undefined
  /** Maximum attempts for a repeatable message, including the first. Default 1. */
  attempts?: number | undefined
}

export interface AnswerMasks {
  /** Creates a mask for one answer. */
  stream: () => StreamMask
  /** For header values. */
  text: Mask
}

/** When a message may be repeated: always, or only if no byte of it was sent. */
export type Repeat = 'always' | 'unsent'

export interface HttpRequest {
  method: 'GET' | 'POST' | 'DELETE'
  headers: Record<string, string>
  body?: string
  signal?: CancelSignal
  /** Absent: never repeated. */
  repeat?: Repeat | undefined
}

export type HttpAnswer = StreamedAnswer

/** Origins may depend on templates, so their number is limited; the least recently used is closed. */
const MAX_ORIGINS = 64
/** Maximum redirects followed for one request. */
const MAX_REDIRECTS = 3
/** Milliseconds that servers have to answer the end of their sessions. */
const FAREWELL = 1_000

/** Connections to the addresses of one server. */
export class Http {
  readonly #client: HttpClient
  readonly #options: HttpOptions
  /** Running requests that end sessions. */
  readonly #leaving = new Set<Promise<unknown>>()

  constructor(options: HttpOptions) {
    const { connectTimeout, timeout } = options
    this.#options = options
    // Streams stay open as long as sessions, so sockets are not limited here.
    this.#client = new HttpClient({
      connectTimeout,
      headersTimeout: timeout,
      bodyTimeout: timeout,
      maxSockets: null,
      maxOrigins: MAX_ORIGINS,
      reservation: () => memory.reserve(),
    })
  }

  /** Sends one request; all HTTP messages to a server pass here. */
  send(to: Resolved, request: HttpRequest): Promise<HttpAnswer | Fault> {
    const { credential } = to
    const sent = credential ? this.#login(to, request, credential) : this.#once(to, request)
    if (request.method === 'DELETE') {
      this.#leaving.add(sent)
      const left = () => this.#leaving.delete(sent)
      sent.then(left, left)
    }
    return sent
  }

  /** Sends one request, unless the circuit breaker is open. */
  #once(to: Resolved, request: HttpRequest): Promise<HttpAnswer | Fault> {
    const { name, resilience, timeout } = this.#options
    // Streams have their own back-off, and the end of a session is not waited for.
    if (resilience && request.method === 'POST') return this.#resiliently(resilience, to, request)
    return this.#open(to, request, MAX_REDIRECTS, (fault) => faultOf(name, fault, timeout))
  }

  /** Sends a request with the server's credential, and repeats it with a renewed one if refused. */
  async #login(to: Resolved, request: HttpRequest, credential: Credential): Promise<HttpAnswer | Fault> {
    const header = await credential.header()
    if (header instanceof Fault) return header
    const answer = await this.#once(header ? withHeader(to, header) : to, request)
    if (answer instanceof Fault) return answer
    const other = await afterRefusal(credential, header, answer)
    if (other === undefined) return answer
    discard(answer)
    if (other instanceof Fault) return other
    const second = await this.#once(withHeader(to, other), request)
    const fault = second instanceof Fault ? undefined : await afterRefusal(credential, other, second)
    if (second instanceof Fault || !(fault instanceof Fault)) return second
    discard(second)
    return fault
  }

  async #resiliently(
    resilience: Resilience,
    to: Resolved,
    request: HttpRequest,
  ): Promise<HttpAnswer | Fault> {
    const { name, timeout, attempts = 1 } = this.#options
    const { repeat, signal } = request
    let last: HttpAnswer | NetFault | undefined
    const drop = () => {
      if (last && !(last instanceof NetFault)) discard(last)
    }
    const once = async () => {
      drop()
      last = await this.#open(to, request, MAX_REDIRECTS, (fault) => fault)
      return last
    }
    const result = await resilience.run(once, {
      origin: to.origin,
      attempts: repeat ? attempts : 1,
      unsent: repeat === 'unsent',
      deadline: performance.now() + timeout,
      signal,
    })
    if (result !== last) drop()
    return result instanceof NetFault ? faultOf(name, result, timeout) : result
  }

  #open<Failed>(
    to: Resolved,
    request: HttpRequest,
    redirects: number,
    failed: (fault: NetFault) => Failed,
  ): Promise<HttpAnswer | Failed> {
    const { origin, path, headers: own, decided, credential } = to
    const { method, headers, body, signal } = request
    const { masks, headers: always, guards, connection } = this.#options
    const mask = masks?.(credential?.sent() ?? NOTHING)
    const filter = mask && {
      ...mask.stream(),
      headers: (given: HttpAnswer['headers']) => maskedHeaders(given, mask.text),
    }
    return this.#client.open(
      {
        origin,
        path,
        method,
        headers: joined(always, headers, own),
        ...(body !== undefined && { body }),
      },
      { ...connection, signal, filter, guard: decided ? guards?.decided : guards?.named },
      failed,
      (answer) => {
        const next = redirects > 0 ? redirectPath(to, answer) : undefined
        if (next === undefined) return answer
        discard(answer)
        return this.#open({ ...to, path: next }, request, redirects - 1, failed)
      },
    )
  }

  async close(): Promise<void> {
    // Wait a limited time until servers are notified of the end of their sessions.
    const late = new Promise((resolve) => setTimeout(resolve, FAREWELL).unref())
    if (this.#leaving.size) await Promise.race([Promise.all(this.#leaving), late])
    await this.#client.close()
  }
}

const NOTHING: readonly string[] = []

function withHeader(to: Resolved, { name, value }: SentHeader): Resolved {
  return { ...to, headers: { ...to.headers, [name]: value } }
}

/** All headers; the last one wins if names repeat. */
function joined(...parts: (Readonly<Record<string, string>> | undefined)[]): Record<string, string> {
  const all: Record<string, string> = {}
  for (const part of parts) for (const name in part) all[name] = part[name] as string
  return all
}

/**
 * The target of a redirect that keeps method and body (RFC 9110, 15.4.8 and 15.4.9), only within the same origin,
 * because the request may carry secrets.
 */
function redirectPath({ origin, path }: Resolved, { status, headers }: HttpAnswer): string | undefined {
  if (status !== 307 && status !== 308) return undefined
  const location = String(headers.location ?? '')
  if (location === '' || !URL.canParse(location, origin + path)) return undefined
  const url = new URL(location, origin + path)
  return url.origin === origin ? url.pathname + url.search : undefined
}

const KINDS: Partial<Record<NetFaultKind, FaultKind>> = {
  timeout: 'timeout',
  cancelled: 'cancelled',
  'no-room': 'busy',
  breaker: 'busy',
  closed: 'lost',
  ended: 'lost',
  protocol: 'invalid',
  headers: 'invalid',
  'too-large': 'invalid',
  encoding: 'invalid',
  request: 'refused',
  outbound: 'refused',
}

function faultOf(server: string, { kind, host, message }: NetFault, timeout: number): Fault {
  const text = kind === 'timeout' ? `No response from ${host} within ${timeout / 1000} s` : message
  // Breaker messages already name the server.
  const named = kind === 'breaker' ? text : `The server ${server}: ${text}`
  return new Fault(KINDS[kind] ?? 'unreachable', named)
}

/** Reads a body of at most `limit` bytes; undefined if it is larger or there is no memory. @throws if it ends early */
export async function readText({ whole, body }: HttpAnswer, limit: number): Promise<string | undefined> {
  if (whole) return whole.length > limit ? undefined : whole.toString('utf8')
  const reservation = memory.reserve()
  try {
    const bytes = await readWhole(body, (more, size) => size <= limit && reservation.add(more))
    return bytes?.toString('utf8')
  } finally {
    reservation.free()
  }
}

/** Discards a body; a short one was already read, so its connection can be reused. */
export function discard({ whole, body }: HttpAnswer): void {
  if (!whole) body.on('error', () => {}).destroy()
}

/** The chunks of a body. @throws if it ends early */
export async function* piecesOf({ whole, body }: HttpAnswer): AsyncGenerator<Buffer> {
  if (whole) {
    yield whole
    return
  }
  const pace = paced()
  for await (const piece of body as AsyncIterable<Buffer>) {
    yield piece
    // Pieces that have come already would all be taken in one turn of the event loop.
    await pace(piece.length)
  }
}

/** The media type of an answer, in lower case and without parameters. */
export function mediaType({ headers }: HttpAnswer): string {
  const type = headers['content-type']
  if (type === 'application/json' || type === 'text/event-stream') return type
  const name = String(type ?? '')
    .split(';', 1)[0]!
    .trim()
  // The official SDKs accept every type that begins so, such as `application/json-rpc`.
  return name.startsWith('application/json') ? 'application/json' : name.toLowerCase()
}

/**
 * Reads a JSON or event stream answer, text by text.
 * @param limit bytes of one text
 * @param take may return true to stop
 * @param position in an event stream, kept up to date
 * @returns the error that ended the answer early, if any; a cut-off answer just ends
 */
export async function readAnswer(
  answer: HttpAnswer,
  limit: number,
  take: (data: string, event: string) => unknown,
  onTooLarge: () => void,
  position?: StreamPosition,
): Promise<unknown> {
  const unfinished = memory.reserve()
  let stopped = false
  try {
    if (mediaType(answer) === 'text/event-stream') {
      const onEvent = ({ data, event }: ServerEvent) => {
        if (take(data, event) === true) stopped = true
      }
      const parse = eventParser(limit, onEvent, onTooLarge, unfinished, position)
      const decoder = new StringDecoder('utf8')
      for await (const chunk of piecesOf(answer)) {
        parse(decoder.write(chunk))
        if (stopped) break
      }
    } else {
      const text = await readText(answer, limit)
      if (text === undefined) onTooLarge()
      else take(text, 'message')
    }
  } catch (error) {
    return error
  } finally {
    unfinished.free()
  }
  return undefined
}

/** Statuses of answers without a body. */
export const BODILESS = new Set([202, 204, 205, 304])

/** A server whose answers are read. */
export interface AnsweringServer {
  name: string
  limits: Limits
  definition: Definition
}

type Named = Pick<AnsweringServer, 'name' | 'definition'>

/** The fault if a server refused the caller's own credentials; undefined otherwise. */
export function refusedCaller(
  { status, headers }: HttpAnswer,
  { name, definition }: Named,
): Fault | undefined {
  if (!definition.forwardsAuthorization || (status !== 401 && status !== 403)) return undefined
  const challenge = headers['www-authenticate']
  const details = { status, ...(challenge !== undefined && { challenge: String(challenge) }) }
  return new Fault('credentials', `The server ${name} refused the credentials`, details)
}

/** Why an answer is not one of an MCP server; undefined if it is. */
export function refusal(
  answer: HttpAnswer,
  id: RequestId | null,
  { name, definition }: Named,
): Fault | undefined {
  const { status, headers, whole } = answer
  const type = mediaType(answer)
  if (id !== null && status < 300) {
    // A client would wait for an answer, or assume success (2025-11-25, Sending Messages).
    if (BODILESS.has(status) || whole?.length === 0 || headers['content-length'] === '0')
      return unanswered(name, status)
    if (type !== 'application/json' && type !== 'text/event-stream') {
      const sent = type || 'no media type'
      const message = `The server ${name} answered with ${sent} instead of JSON: is its url that of an MCP endpoint?`
      return new Fault('invalid', message)
    }
  }
  const refused = (message: string) => new Fault('status', message, { status })
  if (status === 401 || (status === 403 && headers['www-authenticate'] !== undefined)) {
    const message = `The server ${name} refused the gateway's credentials (${status})`
    return definition.forwardsAuthorization ? undefined : refused(message)
  }
  if (status >= 300 && status < 400) return refused(`The server ${name} answered with a redirect (${status})`)
  if (type === 'application/json' && !isPlainRefusal(answer)) return undefined
  if (status < 500 && (id === null || status < 400)) return undefined
  const words = wordsOf(answer)
  return refused(
    status < 500
      ? `The server ${name} refused the call (${status})${words}`
      : `The server ${name} failed (${status})${words}`,
  )
}

/** Whether an error answer is JSON but not MCP, for example from a host check, a validation or a rate limit. */
function isPlainRefusal({ status, whole }: HttpAnswer): boolean {
  return status >= 400 && whole !== undefined && whole.length > 0 && !whole.includes('"jsonrpc"')
}

/** Maximum characters of a server's error text in a message. */
const MAX_WORDS = 300

/** The text of a non-MCP refusal, after a colon; empty if absent or an HTML page. */
export function wordsOf(answer: HttpAnswer): string {
  const text = mediaType(answer) === 'text/html' ? '' : (answer.whole?.toString() ?? '')
  const words = visibleLine(text, MAX_WORDS)
  return words && `: ${words}`
}

/**
 * The response to a request.
 * @param onMessage receives notifications before it
 * @param timeout milliseconds of silence after which it fails
 */
export async function readResponse(
  answer: HttpAnswer,
  id: RequestId,
  upstream: AnsweringServer,
  onMessage?: (raw: JsonObject) => void,
  timeout: number = upstream.limits.timeout,
): Promise<Response | Fault> {
  const { name, limits } = upstream
  const refused = refusedCaller(answer, upstream) ?? refusal(answer, id, upstream)
  if (refused) {
    discard(answer)
    return refused
  }
  let answered: Response | undefined
  const faults: Fault[] = []
  const expire = () => {
    faults.push(timedOut(name, timeout))
    answer.body.destroy()
  }
  const isStream = mediaType(answer) === 'text/event-stream'
  // For other bodies, the connection has its own timeout.
  const timer = timeout === Infinity || !isStream ? undefined : setTimeout(expire, timeout)
  const take = (data: string) => {
    timer?.refresh()
    for (const taken of readData(data)) {
      if ('fault' in taken) {
        // Rejected messages that answer nothing are ignored.
        if (taken.answers.length) faults.push(taken.fault)
      } else if (taken.kind === 'response') answered ??= answerTo(taken, id, isStream)
      else if (taken.kind === 'notification') onMessage?.(taken.raw)
    }
    return answered !== undefined || faults.length > 0
  }
  const limit = limits.maxResponseSize
  const tooMuch = () => faults.push(tooLarge(name, limit))
  const error = await readAnswer(answer, limit, take, tooMuch)
  clearTimeout(timer)
  return answered ?? faults[0] ?? unanswered(name, answer.status, error)
}

/**
 * A response as the answer to a request, under the client's id; undefined: it does not answer it.
 * @param id undefined: no request is known, and the response may refuse any
 * @param isStream whether it came in a stream, which carries messages of any kind
 */
export function answerTo(
  message: Response,
  id: RequestId | undefined,
  isStream: boolean,
): Response | undefined {
  if (id !== undefined && message.id === id) return message
  // A server that could not read a request, or refused it early, answers without its id.
  const isRefusal = isObject(message.raw.error) && (message.id === null || !isStream)
  const isOwn = id !== undefined && idAmong(message.id, (one) => one === id) !== undefined
  if (!isOwn && !isRefusal) return undefined
  if (id !== undefined) return withId(message, id)
  return { ...message, id: null, raw: { ...message.raw, id: null } }
}

/** The fault of an answer without a response. @param error that ended its body early */
export function unanswered(server: string, status: number, error?: unknown): Fault {
  if (error instanceof NetFault && error.kind === 'timeout') return new Fault('timeout', error.message)
  const shown = status === 200 ? '' : ` (${status})`
  return new Fault('status', `The server ${server} ended the call without an answer${shown}`, { status })
}
