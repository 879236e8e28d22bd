import { isRepeatable, type Limits, type Tool } from '../config/model.ts'
import { afterRefusal, type Credential, type SentHeader } from '../credentials/credential.ts'
import { Fault } from '../mcp/fault.ts'
import type { Exchange } from '../mcp/recorded-call.ts'
import {
  type Connection,
  type FetchOptions,
  type Guard,
  type Guards,
  type HttpAnswer,
  type HttpClient,
  NetFault,
  type Resilience,
} from '../net/index.ts'
import { addressOf, type Span, type SpanStart, type TraceContext } from '../telemetry/trace.ts'
import { percentDecoded, timeText, within } from '../text/index.ts'
import { readOrigin, readPath } from './endpoint.ts'
import { CallError, obtained } from './failure.ts'
import type { Mask } from './mask.ts'
import { bodyText, requestText } from './request-text.ts'
import type { CallContext, UpstreamRequest } from './types.ts'

/** Maximum redirects in one call. */
const MAX_REDIRECTS = 5

/** Headers forwarded to another origin; none can be secret. */
const PORTABLE = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

/** Options of one call. */
export interface SendOptions extends Pick<Leading, 'mask'>, Pick<FetchOptions, 'signal' | 'reservation'> {
  http: HttpClient
  limits: Limits
  /** Absent: every address is allowed. */
  guards?: Guards | undefined
  /** Connection settings for the call's origin; other origins use only its proxy. */
  connection?: Connection | undefined
  /** Origins named by the author of the tool; others are chosen by arguments. */
  authored?: ReadonlySet<string> | undefined
  /** Absent: no retries and no circuit breaker. */
  resilience?: Resilience | undefined
  /** Maximum attempts, if repeating is safe. */
  attempts: number
  /** Provides a header for the first origin. */
  credential?: Credential | undefined
  /** Called with each request that is sent; absent: they are not recorded. */
  onExchange?: CallContext['onExchange']
  /** Start of the call, by `performance.now()`. Default: now. */
  begin?: number
  /** If traces are recorded: the parent span, and the path without values, used until a redirect. */
  spans?: { span: Span; path?: string } | undefined
}

/** An answer, and its request, which may result from a redirect. */
export interface Answered {
  answer: HttpAnswer
  request: UpstreamRequest
}

/**
 * Sends the request of a call, and follows redirects if the tool allows; all within one timeout.
 * @throws CallError, NetFault
 */
export async function send(first: UpstreamRequest, tool: Tool, options: SendOptions): Promise<Answered> {
  const { limits, signal, reservation, connection = {}, credential, begin = performance.now() } = options
  const { timeout, connectTimeout, maxResponseSize: maxSize } = limits
  const { proxy, tls } = connection
  const fetching: FetchOptions & { begin: number } = {
    timeout,
    begin,
    maxSize,
    once: tool.annotations?.idempotentHint === false,
    signal,
    reservation,
    connectTimeout,
    proxy,
  }
  let sent = credential && (await inTime(credential.header(), fetching))
  let request = sent ? withHeader(first, sent) : first
  for (let hops = 0; ; hops++) {
    fetching.guard = guardOf(request, options)
    fetching.tls = request.origin === first.origin ? tls : tls?.elsewhere
    let answer = await sendOne(request, tool, fetching, options)
    if (credential && sent && carries(request, sent)) {
      const other = await inTime(afterRefusal(credential, sent, answer), fetching)
      if (other) {
        sent = undefined
        request = withHeader(request, other)
        answer = await sendOne(request, tool, fetching, options)
        await inTime(afterRefusal(credential, other, answer), fetching)
      }
    }
    if (!tool.followRedirects || !isRedirect(answer)) return { answer, request }
    if (hops === MAX_REDIRECTS)
      throw new CallError(
        'redirect',
        `${first.origin} redirected more than ${MAX_REDIRECTS} times; the call was abandoned.`,
      )
    request = redirected(request, answer, options)
    options = { ...options, spans: options.spans && { span: options.spans.span } }
  }
}

/** A header for the server, within the time of the call: its authorization server may be slower. @throws CallError */
async function inTime<T>(
  given: Promise<T | Fault>,
  { begin, timeout }: Pick<FetchOptions, 'timeout'> & { begin: number },
): Promise<T> {
  const late = () =>
    new Fault('timeout', `No token for the server could be fetched within ${timeText(timeout)} (timeout)`)
  return obtained(await within(begin + timeout - performance.now(), given, late))
}

/** One attempt, with its own span if traces are recorded (semantic conventions of HTTP). */
async function fetch(
  request: UpstreamRequest,
  fetching: FetchOptions,
  options: SendOptions,
): Promise<HttpAnswer> {
  const { http, spans, mask, onExchange } = options
  const begin = performance.now()
  let answer: HttpAnswer | undefined
  try {
    answer = await (spans ? tracedFetch(request, fetching, options, spans) : http.fetch(request, fetching))
    return answer
  } finally {
    onExchange?.(exchangeOf(request, answer, mask() ?? ((text) => text), performance.now() - begin))
  }
}

/** Characters of a body that are recorded; no secret is longer. */
const RECORDED = 64 * 1024

/** The recorded part of a body. As much again is masked, so that no secret is cut, and left out. */
function recorded(body: string | Buffer, mask: Mask): string {
  const text = bodyText(body)
  const shown = mask(text.slice(0, 2 * RECORDED))
  const doubtful = text.length > 2 * RECORDED ? RECORDED : 0
  return shown.slice(0, Math.max(0, Math.min(RECORDED, shown.length - doubtful)))
}

function exchangeOf(
  { body, ...request }: UpstreamRequest,
  answer: HttpAnswer | undefined,
  mask: Mask,
  ms: number,
): Exchange {
  return {
    to: mask(request.origin + request.path),
    sent: requestText(body === undefined ? request : { ...request, body: recorded(body, mask) }, mask),
    received: answer && recorded(answer.body, mask),
    ...(answer && { status: answer.status }),
    ms,
  }
}

async function tracedFetch(
  request: UpstreamRequest,
  fetching: FetchOptions,
  { http, authored }: SendOptions,
  spans: NonNullable<SendOptions['spans']>,
): Promise<HttpAnswer> {
  const { origin } = request
  const span = spans.span.client(spanOf(request, spans.path))
  // Origins chosen by arguments or redirects do not get the trace context.
  const sent = authored?.has(origin) ? withTrace(request, span.context) : request
  try {
    const answer = await http.fetch(sent, fetching)
    const { status } = answer
    span.end({ 'http.response.status_code': status }, status >= 400 ? { type: String(status) } : undefined)
    return answer
  } catch (error) {
    span.end(undefined, { type: error instanceof NetFault ? error.kind : '_OTHER' })
    throw error
  }
}

function spanOf({ method, origin }: UpstreamRequest, path: string | undefined): SpanStart {
  const attributes = {
    'http.request.method': method,
    'url.full': path === undefined ? origin : origin + path,
    ...(path !== undefined && { 'url.template': path }),
    ...addressOf(origin),
  }
  return { name: path === undefined ? method : `${method} ${path}`, attributes }
}

/** Trace headers set by the tool take precedence. */
function withTrace(request: UpstreamRequest, { traceparent, tracestate }: TraceContext): UpstreamRequest {
  const { headers } = request
  if (headers.some((name, i) => i % 2 === 0 && /^trace(?:parent|state)$/i.test(name))) return request
  const state = tracestate === undefined ? [] : ['tracestate', tracestate]
  return { ...request, headers: [...headers, 'traceparent', traceparent, ...state] }
}

/** Sends one request of a call, with retries if safe. @throws NetFault */
async function sendOne(
  request: UpstreamRequest,
  tool: Tool,
  fetching: FetchOptions & { begin: number },
  options: SendOptions,
): Promise<HttpAnswer> {
  const { resilience } = options
  const attempts = isRepeatable(request.method, tool) ? options.attempts : 1
  if (!resilience || resilience.passes(attempts)) return fetch(request, fetching, options)
  const { timeout, begin, signal } = fetching
  const once = () =>
    fetch(request, fetching, options).catch((error: unknown) => {
      if (error instanceof NetFault) return error
      throw error
    })
  const deadline = begin + timeout
  const result = await resilience.run(once, { origin: request.origin, attempts, deadline, signal })
  if (result instanceof NetFault) throw result
  return result
}

/** Whether the request still has the header after redirects. */
function carries({ headers }: UpstreamRequest, { name, value }: SentHeader): boolean {
  return headers.some((text, i) => i % 2 === 1 && headers[i - 1] === name && text === value)
}

/** The request with a header replaced. */
function withHeader(request: UpstreamRequest, { name, value }: SentHeader): UpstreamRequest {
  const headers: string[] = []
  for (let i = 0; i < request.headers.length; i += 2)
    if (request.headers[i]!.toLowerCase() !== name) headers.push(request.headers[i]!, request.headers[i + 1]!)
  headers.push(name, value)
  return { ...request, headers }
}

function guardOf({ origin, path }: UpstreamRequest, { guards, authored }: SendOptions): Guard | undefined {
  if (!guards) return undefined
  if (!authored?.has(origin)) return guards.decided
  return guards.ownPaths?.has(path) ? guards.ownPaths.guard : guards.named
}

function isRedirect({ status, headers }: HttpAnswer): boolean {
  return [301, 302, 303, 307, 308].includes(status) && typeof headers.location === 'string'
}

/**
 * The request for a redirect, by the rules of fetch: 303 becomes GET, as do 301 and 302 of a POST. Headers of the tool
 * and its body stay with the first origin, and HTTPS is never downgraded.
 * @throws CallError
 */
function redirected(
  request: UpstreamRequest,
  answer: HttpAnswer,
  { mask }: Pick<Leading, 'mask'>,
): UpstreamRequest {
  const { status, headers: given } = answer
  const refusal = (why: string) =>
    new CallError('redirect', `${request.origin} answered ${status} with a ${why}`)
  const toGet = status === 303 ? request.method !== 'HEAD' : status <= 302 && request.method === 'POST'
  const next = ledTo(request, String(given.location), { toGet, mask, refusal, what: 'redirect' })
  if (toGet || request.body === undefined) return next
  if (next.origin !== request.origin)
    throw refusal(
      `redirect to ${next.origin}. It was not followed, as the body of the request would go to another origin.`,
    )
  next.body = request.body
  return next
}

/** How to follow an answer to another URL. */
interface Leading {
  /** Masks secrets that must not be sent to another origin. */
  mask: () => Mask | undefined
  /** Whether the request becomes GET. */
  toGet: boolean
  /** @param why continues "answered with a" */
  refusal: (why: string) => CallError
  /** Name in refusals. */
  what: 'redirect' | 'link'
}

/**
 * The request for a URL in an answer, without a body: headers of the tool stay with the first origin, and HTTPS is
 * never downgraded.
 * @throws CallError
 */
export function ledTo(
  request: UpstreamRequest,
  location: string,
  { toGet, mask, refusal, what }: Leading,
): UpstreamRequest {
  const base = request.origin + request.path
  if (!URL.canParse(location, base)) throw refusal('Location that is not a URL.')
  const url = new URL(location, base)
  const origin = originOf(url)
  if (origin === undefined)
    throw refusal(`${what} that was not followed: only http and https URLs without credentials are.`)
  if (request.origin.startsWith('https:') && origin.startsWith('http:'))
    throw refusal(`${what} to ${origin}, which is not secure; the ${what} was not followed.`)
  const leaves = origin !== request.origin
  const isSecret = (text: string) =>
    leaves && [text, percentDecoded(text)].some((one) => (mask()?.(one) ?? one) !== one)
  const headers: string[] = []
  for (let i = 0; i < request.headers.length; i += 2) {
    const name = request.headers[i]!.toLowerCase()
    if (leaves && (!PORTABLE.has(name) || isSecret(request.headers[i + 1]!))) continue
    if (toGet && name.startsWith('content-')) continue
    headers.push(request.headers[i]!, request.headers[i + 1]!)
  }
  const path = readPath(url.pathname + withoutSecrets(url.search, isSecret), 0)
  if (isSecret(path))
    throw refusal(
      `${what} to ${origin}, another origin, with a credential of this tool in its path; the ${what} was not followed.`,
    )
  return { method: toGet ? 'GET' : request.method, origin, path, headers }
}

/** The query without pairs that contain a secret. */
function withoutSecrets(search: string, isSecret: (text: string) => boolean): string {
  if (!isSecret(search)) return search
  const pairs = search.slice(1).split('&')
  return `?${pairs.filter((pair) => !isSecret(pair)).join('&')}`
}

/** Undefined for an origin that tools may not call. */
function originOf({ protocol, username, password, host }: URL): string | undefined {
  try {
    return readOrigin(`${protocol}//${username || password ? '@' : ''}${host}`)
  } catch {
    return undefined
  }
}
