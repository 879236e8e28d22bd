import { type Json, type JsonObject, parse, stringify } from '../../json/index.ts'
import {
  Accounted,
  type Accounting,
  Cancellation,
  type CancelSignal,
  checkStandardHeaders,
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
  mismatch,
  type Opened,
  type PassThrough,
  type Request,
  type RequestId,
  reply,
  rpcError,
  type Session,
  STATELESS_REVISIONS,
  textOf,
  unknownSession,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { encodeHeader } from '../bridge/stateless.ts'
import type { Resolved } from '../definition.ts'
import { filterTexts } from '../tool-filter.ts'
import { discard, type HttpAnswer } from '../transport/http.ts'
import type { Upstream } from '../upstream.ts'
import {
  endFault,
  forwardAnswer,
  forwardedHeaders,
  type OnEnd,
  readMessages,
  refusal,
  refusedCaller,
} from './forwarded-headers.ts'
import { type Handshake, ProxySession, type SessionContext } from './session.ts'
import { createLasting, type Restored, setsState } from './session-state.ts'

const ACCEPT = 'application/json, text/event-stream'
const FIRST = { accept: ACCEPT, 'content-type': 'application/json' }
/** Headers that repeat what a request of 2026-07-28 holds, or ask for answers that were given before. */
const UNJUDGED = ['mcp-method', 'mcp-name', 'last-event-id']
/** Characters of a server's session id that a client can carry in its own: proxies take headers of 4 or 8 KiB. */
const MAX_CARRIED = 1024
/** Requests that may be sent a second time. */
const SAFE =
  /^(?:ping|logging\/setLevel|completion\/complete|[a-z/]+\/(?:list|read|get|subscribe|unsubscribe))$/

export interface PassThroughOptions {
  upstream: Upstream
  /** Whether other replicas may be in the server's session: only who ends it for good tells the server. */
  shared: boolean
  /**
   * What serves the session by messages instead, where the server turns out to speak no revision that passes;
   * undefined when it does. Known once `initialize` was answered.
   */
  instead(opened: Opened): Promise<ProxySession | undefined>
}

/** A session with a streamable HTTP server of the same revision, whose bytes pass as they are. */
export class PassThroughSession extends ProxySession implements PassThrough {
  readonly needsUniqueIds = false
  readonly timeout = undefined
  override readonly passThrough = this
  private readonly state = createLasting()
  /** The server's own id, when it gives one. */
  private id: string | undefined
  private revision = ''
  /** GET streams. */
  private readonly streams = new Set<Cancellation>()
  /** Requests under way. */
  private active = 0
  /** Whether the replica that opened the session is the only one that knows it now. */
  private moved = false
  private reopening: Promise<boolean> | undefined

  constructor(
    context: SessionContext,
    session: Session,
    resolved: readonly Resolved[],
    private readonly options: PassThroughOptions,
  ) {
    super(context, session, resolved)
  }

  async initialize(session: Session, request: Request, text: string, exchange: Exchange): Promise<Opened> {
    this.handshake = { request, text }
    this.active++
    const opened = await this.begin(exchange, request, text)
    this.active--
    const instead = await this.options.instead(opened)
    if (!instead) return opened
    this.close(true)
    return { ...(await instead.initialize(session, request, text, exchange)), served: instead }
  }

  /** The revision of the session is kept: the client knows only that one. */
  async adopt(handshake: Handshake, restored: readonly Restored[]): Promise<Opened> {
    this.handshake = handshake
    this.revision = this.session.revision
    for (const each of restored) this.state.remember(each)
    const opened = { ok: await this.reopen(), text: '' }
    const instead = await this.options.instead(opened)
    if (!instead) return opened
    this.close(true)
    return { ...(await instead.adopt(handshake, restored)), served: instead }
  }

  /** Goes on with a server's session that another replica opened. */
  resume(id: string | undefined): void {
    this.id = id
    this.revision = this.session.revision
  }

  restore(): Restored[] {
    return this.state.restore()
  }

  ticket(): ReturnType<ProxySession['ticket']> {
    const { id, key } = this
    if ((id ?? '').length > MAX_CARRIED) return undefined
    return { kind: 'upstream', key, ...(id !== undefined && { upstream: id }) }
  }

  busy(): boolean {
    return this.active > 0
  }

  // Messages pass with the requests that carry them.
  request(): undefined {}
  notify(): void {}

  async post(exchange: Exchange, messages: Messages, call: Accounted | undefined): Promise<Response> {
    const [only] = messages.messages as [Message]
    const { owner } = this.session
    const id = 'id' in only ? only.id : null
    if (this.moved) return this.forgotten(exchange, messages.text, id)
    // Whoever opens a session again has to know what to restore in it.
    const lasting = owner !== undefined && only.kind === 'request' && setsState(only)
    const elsewhere = lasting ? await this.fromOwner(exchange, messages.text, id) : undefined
    if (elsewhere) return elsewhere
    const { filter } = this.options.upstream
    if (messages.batch || !filter) return this.forward(exchange, only, messages.text, messages.text, call)
    if (only.kind !== 'request') return this.forward(exchange, only, messages.text, textOf(only), call)
    const sent = filter.request(only)
    // What was judged is what is sent.
    if (!('code' in sent)) return this.forward(exchange, only, messages.text, textOf(sent), call)
    call?.record({ outcome: 'refused', failure: sent.message })
    return rpcError(exchange, 200, sent, only.id)
  }

  async get(exchange: Exchange): Promise<Response> {
    if (this.moved) return this.forgotten(exchange)
    const { upstream } = this.options
    this.active++
    const abort = new Cancellation()
    this.streams.add(abort)
    const unwatch = exchange.onGone(abort.abort)
    const answer = await this.send(exchange, undefined, abort)
    const onEnd = () => {
      unwatch()
      this.streams.delete(abort)
      this.passed()
    }
    if (answer instanceof Fault) {
      onEnd()
      return rpcError(exchange, 502, { code: INVALID_REQUEST, message: answer.message })
    }
    if (this.session.owner !== undefined && this.hasForgotten(answer)) {
      discard(answer)
      onEnd()
      return this.forgotten(exchange)
    }
    return forwardAnswer(exchange, answer, {
      id: null,
      server: upstream.name,
      forwardsAuthorization: false,
      maxResponseSize: upstream.limits.maxResponseSize,
      timeout: undefined,
      onEnd,
    })
  }

  protected onDrain(): void {
    for (const stream of [...this.streams]) stream.abort()
  }

  protected end(forGood: boolean): void {
    this.state.forget()
    // Other replicas ask this one, once a server knows its session no more.
    const own = this.context.isRetired() && this.session.owner === undefined
    if (forGood || own || !this.options.shared) this.leave()
  }

  private passed(): void {
    this.active--
    if (!this.active) this.onSettled()
  }

  private send(exchange: Exchange, body: string | undefined, signal?: CancelSignal) {
    const { http, filter } = this.options.upstream
    const headers = forwardedHeaders(exchange)
    headers.accept ??= ACCEPT
    if (this.id !== undefined) headers['mcp-session-id'] = this.id
    // A server could follow what they name, which is not judged; sessions have none of them.
    if (filter) for (const name of UNJUDGED) delete headers[name]
    return http.send(this.resolved[0] as Resolved, {
      method: exchange.method as 'GET' | 'POST',
      headers,
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
      hold: exchange.stay.hold,
    })
  }

  /** Asks the replica that opened the session. */
  private async fromOwner(exchange: Exchange, text?: string, id: RequestId | null = null) {
    const { owner } = this.session
    return owner === undefined ? undefined : exchange.replicas?.forward(owner, text, id)
  }

  /** The server has forgotten the session, and only the replica that opened it has the handshake for a new one. */
  private async forgotten(exchange: Exchange, text?: string, id: RequestId | null = null): Promise<Response> {
    this.moved = true
    return (await this.fromOwner(exchange, text, id)) ?? unknownSession(exchange, id)
  }

  private hasForgotten(answer: HttpAnswer): boolean {
    return answer.status === 404 && this.id !== undefined
  }

  /** @param text as the client sent it; @param body as the server gets it */
  private async forward(
    exchange: Exchange,
    message: Message,
    text: string,
    body: string,
    call: Accounted | undefined,
  ): Promise<Response> {
    const { upstream } = this.options
    const { name } = upstream
    const request = message.kind === 'request' ? message : undefined
    const id: RequestId | null = request?.id ?? null
    if (request) this.state.remember(request)
    this.active++
    const abort = new Cancellation()
    let answered = false
    const unwatch = exchange.onGone(() => {
      if (!answered) abort.abort()
    })
    const passed = () => {
      unwatch()
      this.passed()
    }
    const onEnd: OnEnd = (end) => {
      call?.record(end)
      passed()
    }
    const fail = (fault: Fault, status = 502) => {
      onEnd(endFault(fault))
      return json(exchange, errorText(id, { code: INTERNAL_ERROR, message: fault.message }), status)
    }
    let answer = await this.send(exchange, body, abort)
    if (!(answer instanceof Fault) && this.hasForgotten(answer)) {
      discard(answer)
      if (this.session.owner !== undefined) {
        passed()
        return this.forgotten(exchange, text, id)
      }
      if (!(await this.reopen()))
        return fail(new Fault('lost', `The server ${name} forgot the session and refused a new one`))
      if (!(await this.repeatable(message)))
        return fail(
          new Fault(
            'lost',
            `The server ${name} forgot the session. A new session is open, but the call was not repeated, as the tool is not marked idempotent: call it again if that is safe`,
          ),
          200,
        )
      answer = await this.send(exchange, body, abort)
    }
    answered = true
    if (answer instanceof Fault) return fail(answer)
    return passAnswer(exchange, answer, request, upstream, onEnd)
  }

  /** Opens the server's session by the client's `initialize`. */
  private async begin(exchange: Exchange, { id }: Request, text: string): Promise<Opened> {
    const { name, definition, limits } = this.options.upstream
    const refused = (message: string, status = 502, headers = {}) => ({
      ok: false,
      text: errorText(id, { code: INTERNAL_ERROR, message }),
      status,
      headers,
    })
    const answer = await this.send(exchange, text)
    if (answer instanceof Fault) return refused(answer.message)
    const { forwardsAuthorization } = definition
    const caller = refusedCaller(answer, name, forwardsAuthorization)
    const fault = caller ?? refusal(answer, { id, server: name, forwardsAuthorization })
    if (fault) {
      discard(answer)
      const { challenge } = fault
      const headers = challenge === undefined ? {} : { 'www-authenticate': challenge }
      return refused(fault.message, caller?.status, headers)
    }
    const read = await readMessages(answer, limits.maxResponseSize, name)
    if (read instanceof Fault) return refused(read.message)
    const found = read.texts.find((each) => {
      const message = parsed(each)
      return isObject(message) && ('result' in message || 'error' in message)
    })
    const { status } = answer
    if (found === undefined) return refused(`The server ${name} answered ${status} to initialize`)
    const { result } = parsed(found) as JsonObject
    if (status !== 200 || !isObject(result)) return { ok: false, text: found, status }
    this.id = idOf(answer)
    const { protocolVersion } = result
    if (isSessionRevision(protocolVersion)) this.revision = this.session.revision = protocolVersion
    return { ok: true, text: found }
  }

  /** Opens the session again, once for all who ask at the same time; whether the server took it. */
  private reopen(): Promise<boolean> {
    this.reopening ??= this.repeatHandshake().finally(() => {
      this.reopening = undefined
    })
    return this.reopening
  }

  private async repeatHandshake(): Promise<boolean> {
    const { http, limits, name } = this.options.upstream
    const [resolved] = this.resolved as [Resolved]
    const body = this.handshake?.text ?? ''
    const answer = await http.send(resolved, { method: 'POST', headers: FIRST, body })
    if (answer instanceof Fault) return false
    const read = await readMessages(answer, limits.maxResponseSize, name)
    if (read instanceof Fault || answer.status !== 200) return false
    const message = read.texts.map(parsed).find((each) => isObject(each) && isObject(each.result))
    const { protocolVersion } = ((message as JsonObject | undefined)?.result ?? {}) as JsonObject
    // The client was told a revision already.
    if (!message || protocolVersion !== this.revision) return false
    this.id = idOf(answer)
    const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    const noted = await http.send(resolved, { method: 'POST', headers: this.headers(), body: initialized })
    if (noted instanceof Fault) return false
    discard(noted)
    for (const { method, params } of this.state.restore()) await this.ask(method, params)
    return true
  }

  /** A request of the gateway's own in the server's session; the result, or undefined. */
  private async ask(method: string, params?: Json): Promise<Json | undefined> {
    const { http, limits, name } = this.options.upstream
    const own = { jsonrpc: '2.0', id: 'plantgw-own', method, ...(params !== undefined && { params }) }
    const request = { method: 'POST', headers: this.headers(), body: stringify(own) } as const
    const answer = await http.send(this.resolved[0] as Resolved, request)
    if (answer instanceof Fault) return undefined
    const read = await readMessages(answer, limits.maxResponseSize, name)
    if (read instanceof Fault) return undefined
    const found = read.texts.map(parsed).find((message) => isObject(message) && 'result' in message)
    return isObject(found) ? found.result : undefined
  }

  private headers(): Record<string, string> {
    const { id, revision } = this
    return {
      ...FIRST,
      'mcp-protocol-version': revision,
      ...(id !== undefined && { 'mcp-session-id': id }),
    }
  }

  /** Whether a message may be sent a second time. */
  private async repeatable(message: Message): Promise<boolean> {
    if (message.kind !== 'request' || SAFE.test(message.method)) return true
    if (message.method !== 'tools/call') return false
    const { filter } = this.options.upstream
    const listed = await this.ask('tools/list')
    const tools = isObject(listed) && Array.isArray(listed.tools) ? listed.tools : []
    const own = filter ? filter.ownName(String(message.params.name)) : message.params.name
    const tool = tools.find((each) => isObject(each) && each.name === own)
    const hints = isObject(tool) && isObject(tool.annotations) ? tool.annotations : {}
    return hints.idempotentHint === true || hints.readOnlyHint === true
  }

  /** Reports the end of the session to the server. */
  private leave(): void {
    const { id, revision } = this
    if (id === undefined) return
    this.id = undefined
    const headers = { 'mcp-session-id': id, ...(revision && { 'mcp-protocol-version': revision }) }
    this.options.upstream.http
      .send(this.resolved[0] as Resolved, { method: 'DELETE', headers })
      .then((answer) => {
        if (!(answer instanceof Fault)) discard(answer)
      })
      .catch(unexpected('the end of a session'))
  }
}

/** Passes a request of 2026-07-28 to a streamable HTTP server that speaks it, byte for byte. */
export async function passStateless(
  exchange: Exchange,
  request: Request,
  text: string,
  resolved: Resolved,
  upstream: Upstream,
  account: Accounting,
): Promise<Response> {
  const { http, filter } = upstream
  const { id, method, params } = request
  const headers = forwardedHeaders(exchange)
  const call = new Accounted(request, exchange.requestId, STATELESS_REVISIONS[0], account)
  let body = text
  if (filter) {
    const sent = filter.request(request)
    if ('code' in sent) {
      call.record({ outcome: 'refused', failure: sent.message })
      return rpcError(exchange, 200, sent, id)
    }
    // A server may follow what is mirrored, so that has to be what was judged.
    const fault = checkStandardHeaders(exchange.headers, method, params)
    if (fault) return rpcError(exchange, 400, mismatch(fault), id)
    if (sent !== request) headers['mcp-name'] = encodeHeader(String(sent.params.name))
    body = stringify(sent.raw)
  }
  const abort = new Cancellation()
  // Closing the answer is what cancels the request (2026-07-28, Cancellation).
  const unwatch = exchange.onGone(abort.abort)
  const onEnd: OnEnd = (end) => {
    unwatch()
    call.record(end)
  }
  const answer = await http.send(resolved, {
    method: 'POST',
    headers,
    body,
    signal: abort,
    hold: exchange.stay.hold,
  })
  if (!(answer instanceof Fault)) return passAnswer(exchange, answer, request, upstream, onEnd)
  onEnd(endFault(answer))
  return json(exchange, errorText(id, { code: INTERNAL_ERROR, message: answer.message }), 502)
}

/** Passes the answer to a request on; only a list of tools that are hidden or renamed is read. */
async function passAnswer(
  exchange: Exchange,
  answer: HttpAnswer,
  request: Request | undefined,
  { name, definition, filter, limits }: Upstream,
  onEnd: OnEnd,
): Promise<Response> {
  const { maxResponseSize, timeout } = limits
  const { forwardsAuthorization } = definition
  if (!filter || request?.method !== 'tools/list' || answer.status >= 300) {
    const id = request?.id ?? null
    const options = { id, server: name, forwardsAuthorization, maxResponseSize, timeout, onEnd }
    return forwardAnswer(exchange, answer, options)
  }
  const { id, method } = request
  const read = await readMessages(answer, maxResponseSize, name)
  const shown = read instanceof Fault ? read : filterTexts(filter, method, id, read.texts)
  if (typeof shown === 'string') {
    onEnd({ outcome: 'ok' })
    return reply(exchange, shown, 'json')
  }
  const fault = shown ?? new Fault('lost', `The server ${name} ended the call without an answer`)
  onEnd(endFault(fault))
  return json(exchange, errorText(id, { code: INTERNAL_ERROR, message: fault.message }), 502)
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
