import type { HttpResponse } from '../../access/http-response.ts'
import { type JsonObject, stringify } from '../../json/index.ts'
import {
  type CallEnd,
  checkStandardHeaders,
  type Endpoint,
  endOfFault,
  Fault,
  InFlight,
  isObject,
  isSessionRevision,
  isStray,
  LoggedRequest,
  type Message,
  type Messages,
  messageOf,
  metaOf,
  mismatch,
  type Opened,
  ownId,
  type PassThrough,
  type Request,
  type RequestContext,
  type RequestId,
  rememberToken,
  requestIdOf,
  rpcError,
  type Session,
  STATELESS_REVISIONS,
  textOf,
  unknownSession,
} from '../../mcp/index.ts'
import type { TraceContext } from '../../telemetry/trace.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { encodeHeader } from '../bridge/stateless.ts'
import type { Resolved } from '../definition.ts'
import { INITIALIZED } from '../rpc/link.ts'
import { tracedHeaders } from '../sent-requests.ts'
import { discard, type HttpAnswer, readResponse } from '../transport/http.ts'
import { isForgotten, isUnexecuted, logForgotten, refusalOf } from '../transport/lost-session.ts'
import type { Upstream } from '../upstream.ts'
import { failed, type OnEnd, Passage, passAnswer, type Received, received } from './passed-answer.ts'
import { type Handshake, notOpened, ProxySession, type SessionContext } from './session.ts'
import { createLasting, type Restored, setsState } from './session-state.ts'

const CALL = 'tools/call'
const LIST = 'tools/list'
const ACCEPT = 'application/json, text/event-stream'
const FIRST = { accept: ACCEPT, 'content-type': 'application/json' }
/** Headers that repeat unchecked parts of a 2026-07-28 request, or request earlier answers again. */
const UNJUDGED = ['mcp-method', 'mcp-name', 'last-event-id']
/** Maximum characters of a server's session id that fit in the client's own: proxies limit headers to 4 or 8 KiB. */
const MAX_CARRIED = 1024
export interface PassThroughOptions {
  upstream: Upstream
  /**
   * Whether other replicas may use the server's session: then only the one that ends it for good notifies the server.
   */
  shared: boolean
  /**
   * The message-based session to use instead, if the server's revision cannot be passed through; undefined if it can.
   * Known once `initialize` was answered.
   */
  instead(opened: Opened): Promise<ProxySession | undefined>
}

/** A session with a streamable HTTP server of the same revision, relayed byte for byte. */
export class PassThroughSession extends ProxySession implements PassThrough {
  readonly needsUniqueIds = false
  readonly timeout = undefined
  override readonly passThrough = this
  private readonly state = createLasting()
  /** The server's session id, if it issues one. */
  private id: string | undefined
  private revision = ''
  /** GET streams. */
  private readonly streams = new Set<Passage>()
  /** Requests whose answers are being relayed, with their progress tokens. */
  private readonly passages = new InFlight<Passage, readonly unknown[]>()
  /** Progress tokens of tasks, which continue after the answer (2025-11-25, Tasks). */
  private readonly taskTokens = new Set<unknown>()
  /** Number of running requests and streams. */
  private active = 0
  /** Ids of running requests that the client has cancelled. */
  private readonly cancelled = new Set<RequestId>()
  /** Whether only the replica that opened the session knows it now. */
  private moved = false
  private reopening: Promise<boolean> | undefined
  /** Ends the metrics of the server's session, if this process opened it. */
  private onLeft: (() => void) | undefined

  constructor(
    context: SessionContext,
    session: Session,
    resolved: readonly Resolved[],
    private readonly options: PassThroughOptions,
  ) {
    super(context, session, resolved)
  }

  async initialize(
    session: Session,
    request: Request,
    text: string,
    context: RequestContext,
  ): Promise<Opened> {
    this.handshake = { request, text }
    this.active++
    const opened = await this.begin(context, request, text)
    this.active--
    const instead = await this.options.instead(opened)
    if (!instead) return opened
    this.close(true)
    return { ...(await instead.initialize(session, request, text, context)), served: instead }
  }

  /** The revision is kept, as the client knows only that one. */
  async migrate(handshake: Handshake, restored: readonly Restored[]): Promise<Opened> {
    this.handshake = handshake
    this.revision = this.session.revision
    for (const each of restored) this.state.remember(each)
    const opened = { ok: await this.reopen(), text: '' }
    const instead = await this.options.instead(opened)
    if (!instead) return opened
    this.close(true)
    return { ...(await instead.migrate(handshake, restored)), served: instead }
  }

  /** Continues a server's session that another replica opened. */
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

  cut(fault: Fault): void {
    for (const passage of this.passages.keys()) passage.abortWith(fault)
  }

  // Messages are relayed within their HTTP requests.
  request(): undefined {}
  notify(): void {}

  async post(context: RequestContext, messages: Messages, call: Loggable | undefined): Promise<HttpResponse> {
    const [only] = messages.messages as [Message]
    const { owner } = this.session
    const id = only.kind === 'request' ? only.id : null
    if (only.kind === 'notification' && only.method === 'notifications/cancelled')
      this.cancel(requestIdOf(only))
    if (this.moved) return this.forgotten(context, messages.text, id)
    // The replica that opens the session again must know the state to restore.
    const lasting = owner !== undefined && only.kind === 'request' && setsState(only)
    const elsewhere = lasting ? await this.fromOwner(context, messages.text, id) : undefined
    if (elsewhere) return elsewhere
    const { filter } = this.options.upstream
    if (messages.batch || !filter) return this.forward(context, messages, only, call)
    if (only.kind !== 'request') return this.forward(context, messages, only, call, textOf(only))
    const sent = filter.request(only)
    // The backend must receive exactly what was checked.
    if (!('code' in sent)) return this.forward(context, messages, sent, call, textOf(sent))
    call?.record({ outcome: 'refused', failure: sent.message, code: sent.code })
    return rpcError(context, 200, sent, only.id)
  }

  async get(context: RequestContext): Promise<HttpResponse> {
    if (this.moved) return this.forgotten(context)
    const { upstream } = this.options
    this.active++
    const passage = new Passage()
    this.streams.add(passage)
    const answer = await this.send(context, undefined, passage)
    const onEnd = () => {
      this.streams.delete(passage)
      this.passed()
    }
    if (answer instanceof Fault) {
      onEnd()
      return failed(context, answer, null)
    }
    if (this.session.owner !== undefined && this.hasForgotten(answer)) {
      discard(answer)
      onEnd()
      return this.forgotten(context)
    }
    // Calls may be running on other replicas.
    const isWanted = (message: Message) => this.options.shared || this.isWanted(message)
    const options = { upstream, requests: [], batch: false, passage, onEnd, isWanted }
    return passAnswer(context, { answer, read: undefined }, options)
  }

  protected onDrain(): void {
    for (const { signal } of [...this.streams]) signal.abort()
  }

  private left(): void {
    this.onLeft?.()
    this.onLeft = undefined
  }

  protected end(forGood: boolean): void {
    this.state.forget()
    this.left()
    // Other replicas ask this one if a server has forgotten the session.
    const own = this.context.isRetired() && this.session.owner === undefined
    if (forGood || own || !this.options.shared) this.leave()
  }

  /** The server receives the cancellation, and may leave the answer open. */
  private cancel(requestId: RequestId): void {
    if (this.active > this.cancelled.size) this.cancelled.add(requestId as RequestId)
  }

  private passed(): void {
    this.active--
    if (!this.active) this.cancelled.clear()
    if (!this.active) this.onSettled()
  }

  /** @param sent the message in `body`; absent: none, or several */
  private send(
    context: RequestContext,
    body: string | undefined,
    passage?: Passage,
    { sent, trace }: { sent?: Message | undefined; trace?: TraceContext | undefined } = {},
  ) {
    const { upstream } = this.options
    const headers = tracedHeaders(forwardedHeaders(context), trace)
    headers.accept ??= ACCEPT
    if (this.id !== undefined) headers['mcp-session-id'] = this.id
    // A server could follow these unchecked headers; sessions do not need them.
    if (upstream.filter) for (const name of UNJUDGED) delete headers[name]
    return send(upstream, this.resolved[0] as Resolved, context, headers, { body, sent, passage })
  }

  /** Forwards to the replica that opened the session. */
  private async fromOwner(context: RequestContext, text?: string, id: RequestId | null = null) {
    const { owner } = this.session
    return owner === undefined ? undefined : context.replicas?.forward(owner, text, id)
  }

  /** The server forgot the session, and only the replica that opened it has the handshake for a new one. */
  private async forgotten(
    context: RequestContext,
    text?: string,
    id: RequestId | null = null,
  ): Promise<HttpResponse> {
    this.moved = true
    return (await this.fromOwner(context, text, id)) ?? unknownSession(context, id)
  }

  private isWanted(message: Message): boolean {
    const tokens = [...this.passages.values().flat(), ...this.taskTokens]
    return isOfCall(this.options.upstream, message, tokens)
  }

  private hasForgotten(answer: HttpAnswer): boolean {
    return answer.status === 404 && this.id !== undefined
  }

  /**
   * @param sent the message for the server, or the first one of a batch
   * @param whole its text
   */
  private async forward(
    context: RequestContext,
    { messages, batch, text }: Messages,
    sent: Message,
    call: Loggable | undefined,
    whole = text,
  ): Promise<HttpResponse> {
    const { upstream } = this.options
    const { name } = upstream
    const [message] = messages as [Message]
    const request = message.kind === 'request' ? message : undefined
    const requests = messages.filter((one) => one.kind === 'request')
    const id: RequestId | null = request?.id ?? null
    if (request) this.state.remember(request)
    this.active++
    const passage = new Passage()
    this.passages.set(passage, tokensOf(requests))
    const tasks = requests.filter(({ params }) => isObject(params.task))
    for (const token of tokensOf(tasks)) rememberToken(this.taskTokens, token)
    // A batch has a single answer, so it gets no operation span.
    const asked = call?.request && sent.kind === 'request' ? { ...sent, span: call.request.span } : undefined
    const operation = asked && upstream.operations.begin(asked)
    const body = asked && operation ? operation.textOf(asked, whole) : whole
    const trace = operation?.trace
    const onEnd: OnEnd = (end) => {
      this.passages.delete(passage)
      const cancelled = request && this.cancelled.delete(request.id) && end.outcome !== 'ok'
      const how: CallEnd = cancelled ? { outcome: 'cancelled' } : end
      operation?.passed(how)
      call?.record(how)
      this.passed()
    }
    const fail = (fault: Fault) => {
      onEnd(endOfFault(fault))
      return failed(context, fault, id)
    }
    const what = { sent: batch ? undefined : sent, trace }
    const isWanted = (message: Message) => this.isWanted(message)
    const options = { upstream, requests, batch, passage, onEnd, isWanted }
    const send = async () => {
      const answer = await this.send(context, body, passage, what)
      return answer instanceof Fault ? answer : received(answer, options)
    }
    let got = await send()
    if (!(got instanceof Fault) && (await this.isLost(got))) {
      const { status } = got.answer
      if (this.session.owner !== undefined) {
        this.passages.delete(passage)
        this.passed()
        return this.forgotten(context, text, id)
      }
      if (!(await this.reopen())) {
        // A server that refuses a new session is down, and its answer says why.
        if (status !== 404) return passAnswer(context, got, options)
        return fail(new Fault('lost', `The server ${name} forgot the session and refused a new one`))
      }
      const mayRepeat = isUnexecuted(status) || (await this.isRepeatable(batch ? messages : [sent]))
      if (!mayRepeat)
        return fail(
          new Fault(
            'lost',
            `The server ${name} forgot the session. A new session is open, but the call was not repeated, as the tool is not marked idempotent: call it again if that is safe`,
          ),
        )
      if (!got.read) discard(got.answer)
      got = await send()
    }
    return got instanceof Fault ? fail(got) : passAnswer(context, got, options)
  }

  /** Whether the server refused a message because it forgot the session. */
  private async isLost({ answer, read }: Received): Promise<boolean> {
    const { upstream } = this.options
    const [to] = this.resolved as [Resolved]
    if (this.id === undefined) return false
    const why = refusalOf(answer.status, read instanceof Fault ? read : read?.[0]?.message.raw)
    if (why === undefined) return false
    const ping = (body: string) => upstream.http.send(to, { method: 'POST', headers: this.headers(), body })
    const isLost = await isForgotten(why, answer.status, upstream, ping)
    if (isLost) logForgotten(upstream, why)
    return isLost
  }

  /** Opens the server's session with the client's `initialize`. */
  private async begin(context: RequestContext, sent: Request, text: string): Promise<Opened> {
    const { upstream } = this.options
    const { id } = sent
    const answer = await this.send(context, text, undefined, { sent })
    if (answer instanceof Fault) return notOpened(answer, id)
    const { startupTimeout } = upstream.definition.server
    const read = await readResponse(answer, id, upstream, undefined, startupTimeout)
    if (read instanceof Fault) return notOpened(read, id)
    const { status } = answer
    const { result } = read.message.raw
    if (status >= 300 || !isObject(result)) return { ok: false, text: read.text, status }
    this.id = idOf(answer)
    const { protocolVersion } = result
    this.onLeft = upstream.operations.session(protocolVersion)
    if (isSessionRevision(protocolVersion)) this.revision = this.session.revision = protocolVersion
    return { ok: true, text: upstream.view.response('initialize', read.message.raw, read.text) }
  }

  /** Opens the session again, once for all concurrent callers; whether the server accepted it. */
  private reopen(): Promise<boolean> {
    this.reopening ??= this.repeatHandshake().finally(() => {
      this.reopening = undefined
    })
    return this.reopening
  }

  private async repeatHandshake(): Promise<boolean> {
    const { request, text } = this.handshake as Handshake
    const opened = await this.ask(text, request, FIRST)
    // The client has already negotiated a revision.
    if (!opened || opened.answer.status >= 300 || opened.result.protocolVersion !== this.revision)
      return false
    this.id = idOf(opened.answer)
    this.left()
    this.onLeft = this.options.upstream.operations.session(this.revision)
    const { http } = this.options.upstream
    const noted = { method: 'POST', headers: this.headers(), body: INITIALIZED } as const
    const answer = await http.send(this.resolved[0] as Resolved, noted)
    if (answer instanceof Fault) return false
    discard(answer)
    for (const { method, params } of this.state.restore()) await this.askOwn(method, params)
    return true
  }

  /** Sends one of the gateway's own requests in the server's session. */
  private async askOwn(method: string, params?: JsonObject): Promise<JsonObject | undefined> {
    const id = ownId()
    const text = stringify(messageOf(method, params, id))
    const asked = await this.ask(text, { id, method, params: params ?? {} })
    return asked?.result
  }

  /** The result of a request; undefined if it failed. */
  private async ask(
    body: string,
    request: Pick<Request, 'id' | 'method' | 'params'>,
    headers = this.headers(),
  ) {
    const { upstream } = this.options
    const repeat = upstream.view.repeat(request)
    const [to] = this.resolved as [Resolved]
    const answer = await upstream.http.send(to, { method: 'POST', headers, body, repeat })
    if (answer instanceof Fault) return undefined
    const read = await readResponse(answer, request.id, upstream)
    const result = read instanceof Fault ? undefined : read.message.raw.result
    return isObject(result) ? { answer, result } : undefined
  }

  private headers(): Record<string, string> {
    const { id, revision } = this
    return {
      ...FIRST,
      'mcp-protocol-version': revision,
      ...(id !== undefined && { 'mcp-session-id': id }),
    }
  }

  /** Whether messages refused by a server that forgot the session may be sent again. */
  private async isRepeatable(messages: readonly Message[]): Promise<boolean> {
    const { view } = this.options.upstream
    const requests = messages.filter((message) => message.kind === 'request')
    if (requests.some(({ method }) => method === CALL)) {
      const listed = await this.askOwn(LIST)
      if (listed) view.judge(LIST, listed)
    }
    return requests.every((request) => view.repeat(request) === 'always')
  }

  /** Notifies the server of the session's end. */
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

/** Relays a 2026-07-28 request to a streamable HTTP server of that revision, byte for byte. */
export async function passStateless(
  context: RequestContext,
  request: Request,
  text: string,
  resolved: Resolved,
  upstream: Upstream,
  { callLog, registry }: Pick<Endpoint, 'callLog' | 'registry'>,
): Promise<HttpResponse> {
  const { filter } = upstream
  const { id, method, params } = request
  const headers = forwardedHeaders(context)
  const call = new LoggedRequest(request, context, STATELESS_REVISIONS[0], callLog)
  let body = text
  let judged = request
  if (filter) {
    const sent = filter.request(request)
    if ('code' in sent) {
      call.record({ outcome: 'refused', failure: sent.message, code: sent.code })
      return rpcError(context, 200, sent, id)
    }
    // A server may follow the mirrored headers, so they must match what was checked.
    const fault = checkStandardHeaders(context.headers, method, params)
    if (fault) return rpcError(context, 400, mismatch(fault), id)
    if (sent !== request) headers['mcp-name'] = encodeHeader(String(sent.params.name))
    body = stringify(sent.raw)
    judged = sent
  }
  const passage = new Passage()
  registry.keep(passage)
  const operation = upstream.operations.begin({ ...judged, span: call.request.span })
  const onEnd: OnEnd = (end) => {
    registry.drop(passage)
    operation.passed(end)
    call.record(end)
  }
  const own = tracedHeaders(headers, operation.trace)
  const what = { body: operation.textOf(judged, body), sent: judged, passage }
  const answer = await send(upstream, resolved, context, own, what)
  if (answer instanceof Fault) {
    onEnd(endOfFault(answer))
    return failed(context, answer, id)
  }
  const isWanted = (message: Message) => isOfCall(upstream, message, tokensOf([request]))
  const options = { upstream, requests: [request], batch: false, passage, onEnd, isWanted }
  return passAnswer(context, await received(answer, options), options)
}

function tokensOf(requests: readonly Request[]): unknown[] {
  return requests.flatMap(({ params }) => metaOf(params).progressToken ?? [])
}

function isOfCall({ name, log }: Upstream, message: Message, tokens: Iterable<unknown>): boolean {
  if (!isStray(message, tokens)) return true
  log.debug({ server: name }, 'dropped progress that names no call under way')
  return false
}

type Loggable = Pick<LoggedRequest, 'record'> & Partial<Pick<LoggedRequest, 'request'>>

interface Sending {
  body: string | undefined
  /** The message in `body`; undefined: none, or several. */
  sent: Message | undefined
  /** Cancels the request, as does a client that disconnects before the answer begins. */
  passage: Passage | undefined
}

/** Sends a client's request. */
async function send(
  { http, view }: Upstream,
  resolved: Resolved,
  context: RequestContext,
  headers: Record<string, string>,
  { body, sent, passage }: Sending,
): Promise<HttpAnswer | Fault> {
  // From then on, the client cancels by closing the answer (2026-07-28, Cancellation).
  const unwatch = passage && context.onGone(passage.signal.abort)
  const answer = await http.send(resolved, {
    method: context.method as 'GET' | 'POST',
    headers,
    ...(body !== undefined && { body }),
    ...(passage && { signal: passage.signal }),
    repeat: sent?.kind === 'request' ? view.repeat(sent) : undefined,
    reservation: context.lease.reservation,
  })
  unwatch?.()
  return passage ? passage.reason(answer) : answer
}

function idOf({ headers }: HttpAnswer): string | undefined {
  const id = headers['mcp-session-id']
  return id === undefined ? undefined : String(id)
}

/** Client headers that are forwarded; credentials are forwarded only by a template. */
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
export function forwardedHeaders({
  headers,
  method,
}: Pick<RequestContext, 'headers' | 'method'>): Record<string, string> {
  const sent: Record<string, string> = {}
  // With a charset chosen by the client, the server could read a different message than the one checked.
  if (method === 'POST') sent['content-type'] = 'application/json'
  for (const name of SENT) {
    const value = headers[name]
    if (value !== undefined) sent[name] = value
  }
  for (const name in headers)
    if (name.startsWith('mcp-param-') && headers[name] !== undefined) sent[name] = headers[name]
  return sent
}
