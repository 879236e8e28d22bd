import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import {
  Client,
  type FetchLike,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SSEClientTransport,
  type StandardSchemaV1,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import { DEFAULT_LIMITS } from '../../config/index.ts'
import { ExactNumber, isObject, type Json, type JsonObject, parse, stringify } from '../../json/index.ts'
import { guardsOfCommands, HttpClient, NetFault, serverMessage } from '../../net/index.ts'
import type { Login } from '../login/login.ts'
import { VERSION } from '../own-command.ts'

/** A client of one MCP server of any revision. It holds connections, so close it. */
export interface McpClient {
  /**
   * The result of a request.
   * @throws Error reported by the server or the connection; or `cancelled`, once the signal is aborted
   */
  request(method: string, params: JsonObject): Promise<JsonObject>
  /** Calls a tool; its log messages of level `info` and above arrive as notifications. @throws Error as `request` */
  callTool(name: string, args: JsonObject): Promise<JsonObject>
  close(): Promise<void>
}

export interface ClientOptions {
  headers: Record<string, string>
  signal: AbortSignal
  /** Called with every notification of the server. */
  onNotification(notification: JsonObject): void
  /** Has a gateway list all of its tools, whatever its `discovery` lists. Default: false. */
  wholeList?: boolean | undefined
  /** Logs in if the server requires it; absent: the headers contain credentials. */
  login?: Login
  /** Answers a question of the server with an `ElicitResult`; absent: questions cannot be asked. */
  answer: ((question: JsonObject, signal: AbortSignal) => Promise<JsonObject>) | undefined
}

/** Accepts any result. */
const ANY: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'plantgw', validate: (value) => ({ value }) },
}

/**
 * Connects the second generation of the MCP SDK's client, as the first (`@modelcontextprotocol/sdk`) does not speak
 * 2026-07-28. A URL ending in `/sse` uses the older HTTP+SSE transport, any other streamable HTTP. HTTP goes through
 * `net/`, for the gateway's kinds of faults and limits, and for exact numbers.
 * @throws Error why the server cannot be used
 */
export async function connect(url: URL, options: ClientOptions): Promise<McpClient> {
  const http = new HttpClient({ connectTimeout: DEFAULT_LIMITS.connectTimeout })
  const send = httpFetch(http)
  const { login, signal } = options
  const loggedIn = async <T>(work: () => Promise<T>): Promise<T> => {
    for (let logins = 0; ; logins++)
      try {
        return await work()
      } catch (error) {
        // Maximum logins during one request: for a token, for more scopes, and once more for changes meanwhile.
        if (logins === 3 || !(await login?.authorize(send, signal))) throw error
      }
  }
  try {
    const client = await loggedIn(() => open(url, login ? login.fetch(send) : send, options))
    return {
      request: (method, params) => loggedIn(() => client.request(method, params)),
      callTool: (name, args) => loggedIn(() => client.callTool(name, args)),
      async close() {
        await client.close()
        await http.close()
      },
    }
  } catch (error) {
    await http.close()
    throw error
  }
}

async function open(url: URL, send: FetchLike, options: ClientOptions): Promise<McpClient> {
  const { headers, signal, onNotification, answer, wholeList } = options
  let refusal: Refusal | undefined
  const watched: FetchLike = async (to, init) => {
    const response = await send(to, init)
    // The optional stream of streamable HTTP may be refused; that ends no request.
    if (init?.method === 'POST' || url.pathname.endsWith('/sse')) refusal = await refusalOf(response)
    return response
  }
  const transportOptions = { fetch: watched, requestInit: { headers } }
  const address = new URL(url)
  if (wholeList) address.searchParams.set('discovery', 'list')
  const transport = url.pathname.endsWith('/sse')
    ? new SSEClientTransport(address, transportOptions)
    : new StreamableHTTPClientTransport(address, transportOptions)
  const client = new Client(
    { name: 'plantgw', version: VERSION },
    {
      capabilities: { elicitation: { form: {}, url: {} } },
      versionNegotiation: { mode: 'auto' },
    },
  )
  let unanswered: Error | undefined
  client.setRequestHandler('elicitation/create', async (question) => {
    if (answer) return (await answer(fromSdk(question) as JsonObject, signal)) as never
    unanswered = new Error('the server asks for elicitation. On a terminal, elicitation can be answered')
    throw unanswered
  })
  // Milliseconds that a call may take while questions are answered.
  const timeout = answer ? 3_600_000 : DEFAULT_LIMITS.timeout
  // The client resets its timeout only if it has a progress handler. It can miss progress that arrives together with
  // the result, so this command reads progress from the transport.
  const limits = { signal, timeout, resetTimeoutOnProgress: true, onprogress() {} }

  // The SDK ignores the signal while it waits for an answer to its probe.
  const cancelled = once(signal, 'abort')

  async function attempt<T>(work: () => Promise<T>, what?: string): Promise<T> {
    try {
      refusal = undefined
      const result = await Promise.race([work(), cancelled])
      signal.throwIfAborted()
      return result as T
    } catch (error) {
      if (signal.aborted) throw new Error('cancelled')
      throw unanswered ?? faultOf(error, url, refusal, { method: what, headers })
    }
  }

  async function close(): Promise<void> {
    if (transport instanceof StreamableHTTPClientTransport)
      await Promise.race([transport.terminateSession().catch(() => {}), delay(1_000)])
    await client.close()
  }

  await attempt(() => client.connect(transport, limits))
  const { onmessage } = transport as Transport
  ;(transport as Transport).onmessage = (message, extra) => {
    if ('method' in message && !('id' in message)) onNotification(fromSdk(message) as JsonObject)
    onmessage?.(message, extra)
  }
  const request = (method: string, params: JsonObject) =>
    attempt(async () => {
      const result = await client.request({ method, params: toSdk(params) as never }, ANY, limits)
      if (unanswered) throw unanswered
      return fromSdk(result) as JsonObject
    }, method)
  return {
    request,
    async callTool(name, args) {
      const isModern = client.getProtocolEra() === 'modern'
      // A server that refuses the level still answers the call.
      if (!isModern && client.getServerCapabilities()?.logging)
        await client.setLoggingLevel('info', limits).catch(() => {})
      const meta = isModern && { _meta: { [LOG_LEVEL_META_KEY]: 'info' } }
      return request('tools/call', { name, arguments: args, ...meta })
    },
    close,
  }
}

/** An answer that is not of MCP. */
interface Refusal {
  status: number
  text: string
  /** Where it redirects to. */
  location?: string | null
  /** When to ask again: seconds, or a date. */
  retryAfter?: string | null
}

async function refusalOf(response: Response): Promise<Refusal | undefined> {
  const { ok, status, headers } = response
  const type = headers.get('content-type') ?? ''
  // Notifications are answered without a body.
  if (type.startsWith('text/event-stream') || (ok && status !== 200)) return undefined
  const text = unmark(await response.clone().text())
  if (ok && text.includes('"jsonrpc"')) return undefined
  return { status, text, location: headers.get('location'), retryAfter: headers.get('retry-after') }
}

/** The server's own message is first, and then a guess at the cause. */
function faultOf(
  error: unknown,
  { href }: URL,
  refusal: Refusal | undefined,
  { method = 'connect', headers }: { method?: string | undefined; headers: Record<string, string> },
): Error {
  if (error instanceof ProtocolError)
    return new Error(`${method}: ${error.message} (${error.code})`, { cause: error })
  const fault = netFaultIn(error)
  if (fault)
    return new Error(`${href}: ${fault.message}${fault.kind === 'refused' ? '. Is it running?' : ''}`)
  if (refusal)
    return new Error(`${href}: ${saidBy(refusal)}${guessOf(refusal, Object.keys(headers).length > 0)}`)
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return new Error(`${href}: no response in time; the call timed out`)
  return new Error(`${href}: ${(error as Error).message}`)
}

/** The server's own message, or else its status. */
export function saidBy({ status, text, location, retryAfter }: Refusal): string {
  if (status >= 300 && status < 400 && location) return `it redirects to ${location} (status ${status})`
  const said = serverMessage(text)
  const wait = retryAfter && (/^\d+$/.test(retryAfter) ? `in ${retryAfter} s` : `after ${retryAfter}`)
  const again = wait && !said?.includes('try again') ? `; try again ${wait}` : ''
  if (said !== undefined) return `${said} (status ${status})${again}`
  return status === 200
    ? 'the answer is no message of MCP (status 200)'
    : `the server answered with the status ${status}${again}`
}

function guessOf({ status, text }: Refusal, hasCredential: boolean): string {
  if (status === 401)
    return `. Give ${hasCredential ? 'another' : 'a'} credential: --token, PLANTGW_TOKEN, or --header "Authorization: Bearer …"`
  const served = servedIn(text)
  if (served) return `. It serves ${served.slice(0, 20).join(', ')}`
  const isElsewhere = status < 400 || status === 404 || status === 405 || serverMessage(text) === undefined
  return status < 500 && isElsewhere && status !== 403 && status !== 429
    ? '. Is this the address of its MCP endpoint? For a gateway it is {prefix}/mcp or {prefix}/sse'
    : ''
}

/** The endpoints that a gateway lists at an unknown path. */
function servedIn(text: unknown): string[] | undefined {
  try {
    const { served } = JSON.parse(text as string)
    const isList = Array.isArray(served) && served.length > 0
    return isList && served.every((one) => typeof one === 'string') ? served : undefined
  } catch {
    return undefined
  }
}

/** The connection fault that caused an SDK error. */
function netFaultIn(error: unknown): NetFault | undefined {
  if (error instanceof NetFault) return error
  const { cause, data } = (error ?? {}) as { cause?: unknown; data?: { cause?: unknown } }
  const inner = cause ?? data?.cause
  return inner === undefined ? undefined : netFaultIn(inner)
}

/** `fetch` by the gateway's HTTP client: without redirects, with exact numbers. */
export function httpFetch(http: HttpClient): FetchLike {
  // A server chooses the login URL, which must not lead to internal addresses.
  const { named: guard } = guardsOfCommands()
  return async (url, { method = 'GET', headers, body, signal } = {}) => {
    const { origin, pathname, search } = new URL(url)
    const request = {
      method,
      origin,
      path: pathname + search,
      headers: Object.fromEntries(new Headers(headers)),
      ...((typeof body === 'string' || body instanceof URLSearchParams) && { body: unmark(String(body)) }),
    }
    const answer = await http.open(request, { guard, ...(signal && { signal }) }, (fault) => fault)
    if (answer instanceof NetFault) throw answer
    const names = Object.entries(answer.headers).flatMap(([name, value]) =>
      value === undefined || name === 'content-length' ? [] : [[name, String(value)] as [string, string]],
    )
    const init = { status: answer.status, headers: names }
    const pieces = answer.whole ? [answer.whole] : answer.body
    if (String(answer.headers['content-type']).startsWith('text/event-stream'))
      return new Response(ReadableStream.from(markedEvents(pieces)), init)
    let text = ''
    for await (const piece of decoded(pieces)) text += limited(piece, text)
    return new Response([101, 204, 205, 304].includes(answer.status) ? null : mark(text), init)
  }
}

async function* decoded(pieces: Readable | Buffer[]): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const piece of pieces) yield decoder.decode(piece, { stream: true })
}

/** The data of server-sent events, line by line. */
async function* markedEvents(pieces: Readable | Buffer[]): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let rest = ''
  for await (const piece of decoded(pieces)) {
    rest += limited(piece, rest)
    const end = rest.lastIndexOf('\n') + 1
    yield encoder.encode(
      rest.slice(0, end).replaceAll(/^data:(.*)$/gm, (_, data: string) => `data:${mark(data)}`),
    )
    rest = rest.slice(end)
  }
  yield encoder.encode(rest)
}

/** @throws NetFault if the text exceeds the response limit */
function limited(piece: string, before: string): string {
  if (before.length + piece.length > DEFAULT_LIMITS.maxResponseSize)
    throw NetFault.of('too-large', 'the server')
  return piece
}

/** Prefix of a string that represents an exact number; unguessable. */
const MARK = randomUUID()
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g')
/** Shorter numbers fit a double. */
const LONG = /\d[\d.eE+-]{15}/

/**
 * JSON text for a parser that reads doubles, like the SDK's transports: numbers that do not fit become strings, which
 * `unmark` restores. Text other than JSON stays unchanged.
 */
export function mark(text: string): string {
  if (!LONG.test(text)) return text
  try {
    return JSON.stringify(marked(parse(text)))
  } catch {
    return text
  }
}

/** JSON text with its original numbers. */
export function unmark(text: string): string {
  return text.replaceAll(MARKED, '$1')
}

/** A value for the SDK, with exact numbers as strings. */
export function toSdk<T extends Json>(value: T): T {
  return JSON.parse(mark(stringify(value)))
}

/** A value from the SDK, with its original numbers. */
export function fromSdk(value: unknown): Json {
  return parse(unmark(JSON.stringify(value)))
}

function marked(value: Json): unknown {
  if (typeof value === 'bigint' || value instanceof ExactNumber) return MARK + stringify(value)
  if (Array.isArray(value)) return value.map(marked)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, marked(member)]))
}
