import type { JsonObject } from '../../json/index.ts'
import {
  type AnswerForm,
  type Attached,
  Cancellation,
  type CancelSignal,
  type Exchange,
  errorText,
  Fault,
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
  unknownSession,
} from '../../mcp/index.ts'
import type { Definition, Resolved } from '../definition.ts'
import type { Request } from '../rpc/link.ts'
import { filterTexts, type ToolFilter } from '../tools.ts'
import { discard, type Http, type HttpAnswer } from '../transport/http.ts'
import { forwardAnswer, forwardedHeaders, readMessages, refusal, refusedCaller } from './forward.ts'
import type { Handshake, Opened } from './front.ts'
import { textOf } from './message.ts'
import { ACCEPT, createServerSession, idOf, parsed } from './server-session.ts'
import { type Restored, setsState } from './session-state.ts'

/** Headers that repeat what a request of 2026-07-28 holds, or ask for answers that were given before. */
const UNJUDGED = ['mcp-method', 'mcp-name', 'last-event-id']

export interface BytesOptions {
  session: Session
  definition: Definition
  resolved: Resolved
  http: Http
  filter: ToolFilter | undefined
  maxMessage: number
  timeout: number
  /** Whether other replicas may be in the server's session: only who ends it for good tells the server. */
  shared: boolean
  onCall(call: { method: string; name: unknown; ms: number; requestId: string; failure?: string }): void
  onIdle(): void
}

/** One client session in front of a streamable HTTP server of the same revision: bytes pass as they are. */
export interface BytesSession extends Omit<Attached, 'owner' | 'drain'> {
  /** Opens the server's session by the client's `initialize`. */
  initialize(exchange: Exchange, request: Request, text: string): Promise<Opened>
  /** Opens the server's session by a handshake that another server has had; its revision is kept. */
  adopt(handshake: Handshake, restored: readonly Restored[]): Promise<Opened>
  /** Goes on with a server's session that another replica opened. */
  resume(upstream: string | undefined): void
  /** What another replica needs to go on with it. */
  carries(): { upstream?: string }
  restore(): Restored[]
  post(exchange: Exchange, messages: Messages, form: AnswerForm): Promise<Response>
  get(exchange: Exchange): Promise<Response>
  /** Ends the streams that answer no call. */
  quiet(): void
  leave(): void
}

export function createBytes(options: BytesOptions): BytesSession {
  const { session, definition, resolved, http, filter, maxMessage, timeout, shared, onCall, onIdle } = options
  const { name } = definition.server
  const { owner } = session
  const server = createServerSession({ resolved, http, filter, maxMessage, name })
  /** GET streams. */
  const streams = new Set<Cancellation>()
  let active = 0
  let ended = false
  /** Whether the replica that opened the session is the only one that knows it now. */
  let moved = false

  function send(exchange: Exchange, body: string | undefined, signal?: CancelSignal) {
    const headers = forwardedHeaders(exchange)
    headers.accept ??= ACCEPT
    if (server.id !== undefined) headers['mcp-session-id'] = server.id
    // A server could follow what they name, which is not judged; sessions have none of them.
    if (filter) for (const name of UNJUDGED) delete headers[name]
    const method = exchange.method as 'GET' | 'POST'
    return http.send(resolved, {
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
      hold: exchange.stay.hold,
    })
  }

  /** Asks the replica that opened the session. */
  async function fromOwner(exchange: Exchange, text?: string, id: RequestId | null = null) {
    return owner === undefined ? undefined : exchange.replicas?.forward(owner, text, id)
  }

  /** The server has forgotten the session, and only the replica that opened it has the handshake for a new one. */
  async function forgotten(
    exchange: Exchange,
    text?: string,
    id: RequestId | null = null,
  ): Promise<Response> {
    moved = true
    return (await fromOwner(exchange, text, id)) ?? unknownSession(exchange, id)
  }

  function hasForgotten(answer: HttpAnswer): boolean {
    return answer.statusCode === 404 && server.id !== undefined
  }

  /** @param text as the client sent it; `body` is what the server gets */
  async function forward(
    exchange: Exchange,
    message: Message | undefined,
    text: string,
    body: string,
  ): Promise<Response> {
    const id: RequestId | null = message?.kind === 'request' ? message.id : null
    if (message?.kind === 'request') server.remember(message)
    const started = performance.now()
    active++
    let abort: Cancellation | undefined
    let answered = false
    const unwatch = exchange.onGone(() => {
      if (answered) return
      abort?.abort()
    })
    const passed = () => {
      unwatch()
      active--
      if (!active) onIdle()
    }
    const done = (failure?: string) => {
      if (message?.kind === 'request')
        onCall({
          method: message.method,
          name: message.params.name,
          ms: Math.round((performance.now() - started) * 10) / 10,
          requestId: exchange.requestId,
          ...(failure && { failure }),
        })
      passed()
    }
    const fail = (text: string, status: number) => {
      done(text)
      return json(exchange, errorText(id, { code: INTERNAL_ERROR, message: text }), status)
    }
    abort = new Cancellation()
    let answer = await send(exchange, body, abort)
    if (!(answer instanceof Fault) && hasForgotten(answer) && message) {
      discard(answer)
      if (owner !== undefined) {
        passed()
        return forgotten(exchange, text, id)
      }
      if (!(await server.reopen()))
        return fail(`The server ${name} has forgotten the session and took no new one`, 502)
      if (!(await server.repeatable(message)))
        return fail(
          `The server ${name} had forgotten the session. A new one is open, but the call was not repeated, as the tool is not marked idempotent: call it again if that is safe`,
          200,
        )
      answer = await send(exchange, body, abort)
    }
    if (answer instanceof Fault) return fail(answer.message, 502)
    answered = true
    const method = message?.kind === 'request' ? message.method : ''
    if (filter && method === 'tools/list' && answer.statusCode < 300) {
      const read = await readMessages(answer, maxMessage, name)
      if (read instanceof Fault) return fail(read.message, 502)
      const shown = filterTexts(filter, method, id as RequestId, read.texts)
      if (shown === undefined) return fail(`The server ${name} ended the call without an answer`, 502)
      done()
      return reply(exchange, shown, 'json')
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

  function pass(exchange: Exchange, { messages, batch, text }: Messages): Promise<Response> {
    const [only] = messages as [Message]
    if (batch || !filter) return forward(exchange, only, text, text)
    if (only.kind !== 'request') return forward(exchange, only, text, textOf(only))
    const sent = filter.request(only)
    if ('code' in sent) return Promise.resolve(rpcError(exchange, 200, sent, only.id))
    // What was judged is what is sent.
    return forward(exchange, only, text, textOf(sent))
  }

  return {
    async initialize(exchange, request, text) {
      server.initialize = text
      const refused = (message: string, status: number, headers = {}) => ({
        ok: false,
        text: errorText(request.id, { code: INTERNAL_ERROR, message }),
        status,
        headers,
      })
      active++
      const answer = await send(exchange, text)
      active--
      if (answer instanceof Fault) return refused(answer.message, 502)
      const { forwardsAuthorization } = definition
      const caller = refusedCaller(answer, name, forwardsAuthorization)
      const why = caller?.message ?? refusal(answer, { id: request.id, server: name, forwardsAuthorization })
      if (why !== undefined) {
        discard(answer)
        const challenge = caller?.challenge
        return refused(
          why,
          caller?.status ?? 502,
          challenge === undefined ? {} : { 'www-authenticate': challenge },
        )
      }
      const read = await readMessages(answer, maxMessage, name)
      if (read instanceof Fault) return refused(read.message, 502)
      const found = read.texts.find((each) => {
        const message = parsed(each)
        return isObject(message) && ('result' in message || 'error' in message)
      })
      const { statusCode } = answer
      if (found === undefined) return refused(`The server ${name} answered ${statusCode} to initialize`, 502)
      const { result } = parsed(found) as JsonObject
      if (statusCode !== 200 || !isObject(result)) return { ok: false, text: found, status: statusCode }
      server.id = idOf(answer)
      const { protocolVersion } = result
      if (isSessionRevision(protocolVersion)) server.revision = session.revision = protocolVersion
      return { ok: true, text: found }
    },
    async adopt({ text }, restored) {
      server.initialize = text
      server.revision = session.revision
      for (const each of restored) server.remember(each)
      return { ok: await server.reopen(), text: '' }
    },
    resume(upstream) {
      server.id = upstream
      server.revision = session.revision
    },
    carries: () => (server.id === undefined ? {} : { upstream: server.id }),
    restore: server.restore,
    async post(exchange, messages) {
      const [only] = messages.messages as [Message]
      const id = 'id' in only ? only.id : null
      if (moved) return forgotten(exchange, messages.text, id)
      // Who can open a session anew has to know what to restore in it.
      const lasting = owner !== undefined && only.kind === 'request' && setsState(only)
      const answer = lasting ? await fromOwner(exchange, messages.text, id) : undefined
      return answer ?? pass(exchange, messages)
    },
    async get(exchange) {
      if (moved) return forgotten(exchange)
      active++
      const abort = new Cancellation()
      streams.add(abort)
      const unwatch = exchange.onGone(() => abort.abort())
      const answer = await send(exchange, undefined, abort)
      const done = () => {
        unwatch()
        streams.delete(abort)
        active--
        if (!active) onIdle()
      }
      if (answer instanceof Fault) {
        done()
        return rpcError(exchange, 502, { code: INVALID_REQUEST, message: answer.message })
      }
      if (owner !== undefined && hasForgotten(answer)) {
        discard(answer)
        done()
        return forgotten(exchange)
      }
      return forwardAnswer(exchange, answer, {
        id: null,
        server: name,
        forwardsAuthorization: false,
        maxResponseSize: maxMessage,
        timeout: undefined,
        onEnd: done,
      })
    },
    busy: () => active > 0,
    quiet() {
      for (const stream of [...streams]) stream.abort()
    },
    leave: server.leave,
    end() {
      if (ended) return
      ended = true
      server.forget()
      if (!shared) server.leave()
    },
  }
}
