import { type Json, type JsonObject, parse, stringify } from '../json/index.ts'
import {
  type AnswerForm,
  type Attached,
  Cancellation,
  type CancelSignal,
  type Exchange,
  errorText,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isObject,
  isSessionRevision,
  json,
  type Message,
  type Messages,
  type RequestId,
  reply,
  rpcError,
  type Session,
} from '../mcp/index.ts'
import type { Definition, Resolved } from './definition.ts'
import { forwardAnswer, forwardedHeaders, readMessages } from './forward.ts'
import type { Handshake, Opened } from './front.ts'
import { discard, type Http, type HttpAnswer } from './http.ts'
import type { Request, Restored } from './link.ts'
import { filterText, type ToolFilter } from './tools.ts'

export interface BytesOptions {
  session: Session
  definition: Definition
  resolved: Resolved
  http: Http
  filter: ToolFilter | undefined
  maxMessage: number
  timeout: number
  onCall(call: { method: string; name: unknown; ms: number; requestId: string; failure?: string }): void
  onIdle(): void
}

/** One client session in front of a streamable HTTP server of the same revision: bytes pass as they are. */
export interface BytesSession extends Omit<Attached, 'owner' | 'drain'> {
  /** Opens the server's session by the client's `initialize`. */
  initialize(exchange: Exchange, request: Request, text: string): Promise<Opened>
  /** Opens the server's session by a handshake that another server has had; its revision is kept. */
  adopt(handshake: Handshake, restored: readonly Restored[]): Promise<Opened>
  restore(): Restored[]
  post(exchange: Exchange, messages: Messages, form: AnswerForm): Promise<Response>
  get(exchange: Exchange): Promise<Response>
}

const SAFE =
  /^(?:ping|logging\/setLevel|completion\/complete|[a-z/]+\/(?:list|read|get|subscribe|unsubscribe))$/
const ACCEPT = 'application/json, text/event-stream'
const FIRST = { accept: ACCEPT, 'content-type': 'application/json' }

export function createBytes(options: BytesOptions): BytesSession {
  const { session, definition, resolved, http, filter, maxMessage, timeout, onCall, onIdle } = options
  const { name } = definition.server
  /** The server's own session id, when it gives one. */
  let upstreamId: string | undefined
  let initialize = ''
  let revision = ''
  let active = 0
  let reopening: Promise<boolean> | undefined
  let ended = false
  /** What a server that has forgotten the session is told again. */
  let level: Json | undefined
  let subscribed: string[] = []

  function send(exchange: Exchange, body: string | undefined, signal?: CancelSignal) {
    const headers = forwardedHeaders(exchange)
    headers.accept ??= ACCEPT
    if (upstreamId !== undefined) headers['mcp-session-id'] = upstreamId
    const method = exchange.method as 'GET' | 'POST'
    return http.send(resolved, {
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    })
  }

  function remember({ method, params }: Pick<Request, 'method' | 'params'>): void {
    const uri = String(params.uri)
    if (method === 'logging/setLevel') level = params.level
    else if (method === 'resources/subscribe') subscribed = [...new Set([...subscribed, uri])]
    else if (method === 'resources/unsubscribe') subscribed = subscribed.filter((one) => one !== uri)
  }

  function restore(): Restored[] {
    return [
      ...(level === undefined ? [] : [{ method: 'logging/setLevel', params: { level } }]),
      ...subscribed.map((uri) => ({ method: 'resources/subscribe', params: { uri } })),
    ]
  }

  /** A request of the gateway's own in the server's session; the result, or undefined. */
  async function ask(method: string, params?: Json): Promise<Json | undefined> {
    const headers: Record<string, string> = { ...FIRST, 'mcp-protocol-version': revision }
    if (upstreamId !== undefined) headers['mcp-session-id'] = upstreamId
    const body = stringify({
      jsonrpc: '2.0',
      id: 'plantgw-own',
      method,
      ...(params !== undefined && { params }),
    })
    const answer = await http.send(resolved, { method: 'POST', headers, body })
    if ('fault' in answer) return undefined
    const read = await readMessages(answer, maxMessage, name)
    if ('fault' in read) return undefined
    const found = read.texts.map(parsed).find((message) => isObject(message) && 'result' in message)
    return isObject(found) ? found.result : undefined
  }

  async function handshake(): Promise<boolean> {
    const answer = await http.send(resolved, { method: 'POST', headers: FIRST, body: initialize })
    if ('fault' in answer) return false
    const read = await readMessages(answer, maxMessage, name)
    if ('fault' in read || answer.statusCode !== 200) return false
    const message = read.texts.map(parsed).find((each) => isObject(each) && isObject(each.result))
    const { protocolVersion } = ((message as JsonObject | undefined)?.result ?? {}) as JsonObject
    // The client has been told a revision already.
    if (!message || protocolVersion !== revision) return false
    upstreamId = idOf(answer)
    const headers: Record<string, string> = { ...FIRST, 'mcp-protocol-version': revision }
    if (upstreamId !== undefined) headers['mcp-session-id'] = upstreamId
    const body = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    const noted = await http.send(resolved, { method: 'POST', headers, body })
    if ('fault' in noted) return false
    discard(noted)
    for (const { method, params } of restore()) await ask(method, params)
    return true
  }

  /** Whether a request may be sent a second time. */
  async function repeatable(message: Message): Promise<boolean> {
    if (message.kind !== 'request' || SAFE.test(message.method)) return true
    if (message.method !== 'tools/call') return false
    const listed = await ask('tools/list')
    const tools = isObject(listed) && Array.isArray(listed.tools) ? listed.tools : []
    const own = filter ? filter.ownName(String(message.params.name)) : message.params.name
    const tool = tools.find((each) => isObject(each) && each.name === own)
    const hints = isObject(tool) && isObject(tool.annotations) ? tool.annotations : {}
    return hints.idempotentHint === true || hints.readOnlyHint === true
  }

  async function forward(exchange: Exchange, message: Message | undefined, body: string): Promise<Response> {
    const id: RequestId | null = message?.kind === 'request' ? message.id : null
    if (message?.kind === 'request') remember(message)
    const started = performance.now()
    active++
    let abort: Cancellation | undefined
    let answered = false
    const unwatch = exchange.onGone(() => {
      if (answered) return
      abort?.abort()
    })
    const done = (failure?: string) => {
      unwatch()
      active--
      if (message?.kind === 'request')
        onCall({
          method: message.method,
          name: message.params.name,
          ms: Math.round((performance.now() - started) * 10) / 10,
          requestId: exchange.requestId,
          ...(failure && { failure }),
        })
      if (!active) onIdle()
    }
    const fail = (text: string, status: number) => {
      done(text)
      return json(exchange, errorText(id, { code: INTERNAL_ERROR, message: text }), status)
    }
    abort = new Cancellation()
    let answer = await send(exchange, body, abort)
    if (!('fault' in answer) && answer.statusCode === 404 && upstreamId !== undefined && message) {
      discard(answer)
      reopening ??= handshake().finally(() => {
        reopening = undefined
      })
      if (!(await reopening))
        return fail(`The server ${name} has forgotten the session and took no new one`, 502)
      if (!(await repeatable(message)))
        return fail(
          `The server ${name} had forgotten the session. A new one is open, but the call was not repeated, as the tool is not marked idempotent: call it again if that is safe`,
          200,
        )
      answer = await send(exchange, body, abort)
    }
    if ('fault' in answer) return fail(answer.fault, 502)
    answered = true
    const method = message?.kind === 'request' ? message.method : ''
    if (filter && method === 'tools/list' && answer.statusCode === 200) {
      const read = await readMessages(answer, maxMessage, name)
      if ('fault' in read) return fail(read.fault, 502)
      done()
      return reply(exchange, filterText(filter, method, read.texts.at(-1) ?? ''), 'json')
    }
    return forwardAnswer(exchange, answer, {
      id,
      server: name,
      forwardsAuthorization: definition.forwardsAuthorization,
      maxResponseSize: maxMessage,
      timeout,
      onEnd: done,
    })
  }

  return {
    async initialize(exchange, request, text) {
      initialize = text
      const refused = (message: string, status: number) => ({
        ok: false,
        text: errorText(request.id, { code: INTERNAL_ERROR, message }),
        status,
      })
      active++
      const answer = await send(exchange, text)
      active--
      if ('fault' in answer) return refused(answer.fault, 502)
      const read = await readMessages(answer, maxMessage, name)
      if ('fault' in read) return refused(read.fault, 502)
      const found = read.texts.find((each) => {
        const message = parsed(each)
        return isObject(message) && ('result' in message || 'error' in message)
      })
      const { statusCode } = answer
      if (found === undefined) return refused(`The server ${name} answered ${statusCode} to initialize`, 502)
      const { result } = parsed(found) as JsonObject
      if (statusCode !== 200 || !isObject(result)) return { ok: false, text: found, status: statusCode }
      upstreamId = idOf(answer)
      if (isSessionRevision(result.protocolVersion)) revision = session.revision = result.protocolVersion
      return { ok: true, text: found }
    },
    async adopt({ text }, restored) {
      initialize = text
      revision = session.revision
      for (const each of restored) remember(each)
      return { ok: await handshake(), text: '' }
    },
    restore,
    post(exchange, { messages, batch, text }) {
      const [only] = messages as [Message]
      if (batch || only.kind !== 'request' || !filter) return forward(exchange, only, text)
      const sent = filter.request(only, text)
      if (typeof sent === 'string') return forward(exchange, only, sent)
      return Promise.resolve(rpcError(exchange, 200, sent, only.id))
    },
    async get(exchange) {
      active++
      const abort = new Cancellation()
      const unwatch = exchange.onGone(() => abort.abort())
      const answer = await send(exchange, undefined, abort)
      const done = () => {
        unwatch()
        active--
        if (!active) onIdle()
      }
      if (!('fault' in answer))
        return forwardAnswer(exchange, answer, {
          id: null,
          server: name,
          forwardsAuthorization: false,
          maxResponseSize: maxMessage,
          timeout: undefined,
          onEnd: done,
        })
      done()
      return rpcError(exchange, 502, { code: INVALID_REQUEST, message: answer.fault })
    },
    busy: () => active > 0,
    end() {
      if (ended) return
      ended = true
      if (upstreamId === undefined) return
      const headers = { 'mcp-session-id': upstreamId, ...(revision && { 'mcp-protocol-version': revision }) }
      void http.send(resolved, { method: 'DELETE', headers }).then((answer) => {
        if (!('fault' in answer)) discard(answer)
      })
    },
  }
}

function idOf({ headers }: HttpAnswer): string | undefined {
  const id = headers['mcp-session-id']
  return id === undefined ? undefined : String(id)
}

function parsed(text: string): Json | undefined {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}
