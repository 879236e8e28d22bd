import { isRepeatable, type Limits, type Tool } from '../config/model.ts'
import type { Credential, SentHeader } from '../credentials/credential.ts'
import { Fault } from '../mcp/fault.ts'
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
import { type Attributes, addressOf, type Span, type TraceContext } from '../telemetry/trace.ts'
import { decoded } from './credentials.ts'
import { readOrigin, readPath } from './endpoint.ts'
import { CallError, credentialError } from './failure.ts'
import type { Mask } from './mask.ts'
import type { UpstreamRequest } from './types.ts'

/** Redirects followed in one call. */
const MAX_REDIRECTS = 5

/** Headers that go along to another origin: none that a template, an argument or the author made a secret of. */
const PORTABLE = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

/** Of one call. */
export interface SendOptions extends RedirectOptions, Pick<FetchOptions, 'signal' | 'hold'> {
  http: HttpClient
  limits: Limits
  /** Absent: every address is good. */
  guards?: Guards | undefined
  /** How the origin of the call is connected to; others are reached by the same proxy. */
  connection?: Connection | undefined
  /** The origins that the author of the tool names; arguments decide any other. */
  authored?: ReadonlySet<string> | undefined
  /** Absent: requests are sent once, whatever failed before. */
  resilience?: Resilience | undefined
  /** How often a request is sent at the most, if that does no harm. */
  attempts: number
  /** Gives a header of the first origin. */
  credential?: Credential | undefined
  /** Where traces are recorded: what the call belongs to, and its path without a value, which a redirect leaves. */
  spans?: { span: Span; path?: string } | undefined
}

/**
 * Sends the request of a call, and follows redirects where the tool says so; all within one time-out.
 * @throws CallError, NetFault
 */
export async function send(first: UpstreamRequest, tool: Tool, options: SendOptions): Promise<HttpAnswer> {
  const { limits, signal, hold, connection = {}, credential } = options
  const { timeout, connectTimeout, maxResponseSize: maxSize } = limits
  const { proxy, tls } = connection
  const fetching: FetchOptions & { begin: number } = {
    timeout,
    begin: performance.now(),
    maxSize,
    signal,
    hold,
    connectTimeout,
    proxy,
  }
  let sent = await credential?.header()
  if (sent instanceof Fault) throw credentialError(sent)
  let request = sent ? withHeader(first, sent) : first
  for (let hops = 0; ; hops++) {
    fetching.guard = guardOf(request, options)
    fetching.tls = request.origin === first.origin ? tls : tls?.elsewhere
    let answer = await sendOne(request, tool, fetching, options)
    // With 401 nothing was done (RFC 9110, 15.5.2), so that this one request can be sent again.
    if (answer.status === 401 && credential && sent && carries(request, sent)) {
      const other = await credential.renew(sent)
      if (other instanceof Fault) throw credentialError(other)
      sent = undefined
      if (other) {
        request = withHeader(request, other)
        answer = await sendOne(request, tool, fetching, options)
      }
    }
    if (!tool.followRedirects || !isRedirect(answer)) return answer
    if (hops === MAX_REDIRECTS)
      throw new CallError(
        'redirect',
        `${first.origin} redirected more than ${MAX_REDIRECTS} times; the call was abandoned.`,
      )
    request = redirected(request, answer, options)
    options = withoutPath(options)
  }
}

function withoutPath({ spans, ...options }: SendOptions): SendOptions {
  return { ...options, spans: spans && { span: spans.span } }
}

/** Sends one request of a call, again where that does no harm. @throws NetFault */
/** One attempt, with a span of its own where traces are recorded (semantic conventions of HTTP). */
async function fetch(
  request: UpstreamRequest,
  fetching: FetchOptions,
  { http, spans, authored }: SendOptions,
): Promise<HttpAnswer> {
  if (!spans) return http.fetch(request, fetching)
  const { method, origin } = request
  const { path } = spans
  const attributes: Attributes = {
    'http.request.method': method,
    'url.full': path === undefined ? origin : origin + path,
    ...addressOf(origin),
  }
  if (path !== undefined) attributes['url.template'] = path
  const span = spans.span.client(path === undefined ? method : `${method} ${path}`, attributes)
  // Who else an argument or a redirect may lead to has no part in the trace.
  const sent = authored?.has(origin) ? withTrace(request, span.context) : request
  try {
    const answer = await http.fetch(sent, fetching)
    const { status } = answer
    span.end({ 'http.response.status_code': status }, status >= 400 ? { type: String(status) } : undefined)
    return answer
  } catch (error) {
    span.end({}, { type: error instanceof NetFault ? error.kind : '_OTHER' })
    throw error
  }
}

/** What the tool itself says of the trace stays. */
function withTrace(request: UpstreamRequest, { traceparent, tracestate }: TraceContext): UpstreamRequest {
  const names = request.headers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase())
  if (names.includes('traceparent') || names.includes('tracestate')) return request
  const state = tracestate === undefined ? [] : ['tracestate', tracestate]
  return { ...request, headers: [...request.headers, 'traceparent', traceparent, ...state] }
}

async function sendOne(
  request: UpstreamRequest,
  tool: Tool,
  fetching: FetchOptions & { begin: number },
  options: SendOptions,
): Promise<HttpAnswer> {
  const { attempts, resilience } = options
  if (!resilience) return fetch(request, fetching, options)
  const { timeout, begin, signal } = fetching
  const once = () =>
    fetch(request, fetching, options).catch((error: unknown) => {
      if (error instanceof NetFault) return error
      throw error
    })
  const result = await resilience.run(once, {
    origin: request.origin,
    attempts: isRepeatable(request.method, tool) ? attempts : 1,
    deadline: begin + timeout,
    signal,
  })
  if (result instanceof NetFault) throw result
  return result
}

/** Whether no redirect has taken the header off. */
function carries({ headers }: UpstreamRequest, { name, value }: SentHeader): boolean {
  return headers.some((text, i) => i % 2 === 1 && headers[i - 1] === name && text === value)
}

/** The request with the header in place of others of its name. */
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

/** Whether the answer asks for another request. */
function isRedirect({ status, headers }: HttpAnswer): boolean {
  return [301, 302, 303, 307, 308].includes(status) && typeof headers.location === 'string'
}

interface RedirectOptions {
  /** The tool says that its body may go to another origin. */
  sendsBody: boolean
  /** Of what may not go to another origin at all. */
  mask: () => Mask | undefined
}

/**
 * The request that a redirect asks for, by the rules of fetch: 303 becomes GET, and so do 301 and 302 of a
 * POST. Headers of the tool stay with the first origin, its body too unless the tool says otherwise, and a secure call
 * stays secure.
 * @throws CallError
 */
function redirected(
  request: UpstreamRequest,
  answer: HttpAnswer,
  { sendsBody, mask }: RedirectOptions,
): UpstreamRequest {
  const { status, headers: given } = answer
  const refusal = (why: string) =>
    new CallError('redirect', `${request.origin} answered ${status} with a ${why}`)
  const base = request.origin + request.path
  if (!URL.canParse(String(given.location), base)) throw refusal('Location that is not a URL.')
  const url = new URL(String(given.location), base)
  const origin = originOf(url)
  if (origin === undefined)
    throw refusal('redirect that was not followed: only http and https URLs without credentials are.')
  if (request.origin.startsWith('https:') && origin.startsWith('http:'))
    throw refusal(`redirect to ${origin}, which is not secure; the redirect was not followed.`)
  const leaves = origin !== request.origin
  const isSecret = (text: string) =>
    leaves && [text, decoded(text)].some((one) => (mask()?.(one) ?? one) !== one)
  const toGet = status === 303 ? request.method !== 'HEAD' : status <= 302 && request.method === 'POST'
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
      `redirect to ${origin}, another origin, with a credential of this tool in its path; the redirect was not followed.`,
    )
  const next: UpstreamRequest = { method: toGet ? 'GET' : request.method, origin, path, headers }
  if (toGet || request.body === undefined) return next
  if (leaves && !sendsBody)
    throw refusal(
      `redirect to ${origin}. It was not followed, as the body of the request would go to another origin; set \`redirectBody: true\` on the tool to send it there.`,
    )
  next.body = request.body
  return next
}

/** The query without the pairs that hold a secret. */
function withoutSecrets(search: string, isSecret: (text: string) => boolean): string {
  if (!isSecret(search)) return search
  const pairs = search.slice(1).split('&')
  return `?${pairs.filter((pair) => !isSecret(pair)).join('&')}`
}

/** Undefined for one that no tool may call. */
function originOf({ protocol, username, password, host }: URL): string | undefined {
  try {
    return readOrigin(`${protocol}//${username || password ? '@' : ''}${host}`)
  } catch {
    return undefined
  }
}
