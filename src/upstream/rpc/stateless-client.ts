import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import {
  CANCELLATION,
  Cancellation,
  Fault,
  HEADER_MISMATCH,
  isObject,
  LISTEN,
  type Message,
  type Notification,
  ownRequest,
  type ParamHeader,
  type RequestId,
  STATELESS_REVISIONS,
} from '../../mcp/index.ts'
import { createParamHeaders, mirroredValue, nameOf, withoutFaulty } from '../../mcp/middleware/mirror.ts'
import { LOG_LEVEL, metaOf, ownMeta, SUBSCRIPTION_ID } from '../../mcp/protocol.ts'
import type { Logger } from '../../telemetry/log.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Resolved } from '../definition.ts'
import { tracedHeaders, traceIn } from '../sent-requests.ts'
import { timedOut } from '../transport/channel.ts'
import { discard, type HttpAnswer, mediaType, readResponse } from '../transport/http.ts'
import type { Upstream } from '../upstream.ts'
import { NO_EVENTS, type PendingRequest, type RpcClient } from './rpc-client.ts'
import { type LockHolder, SessionLock } from './session-lock.ts'
import { type StatelessUpstream, type UpstreamCall, whoseCall } from './stateless-upstream.ts'
import { isWanted } from './upstream-session.ts'

type Sent = Promise<JsonObject | Fault | undefined>

/** Maximum tools named in the log, each once. */
const MAX_LOGGED = 1000

/** A server that speaks 2026-07-28, over stdio or streamable HTTP. */
export class StatelessClient implements StatelessUpstream {
  readonly #hasLines: boolean
  readonly #headers = createParamHeaders()
  readonly #children = new Set<SharedChild>()
  /** Omitted tools that were logged. */
  readonly #excluded = new Set<string>()

  constructor(
    private readonly upstream: Upstream,
    readonly version: string,
    private readonly log: Logger,
  ) {
    this.#hasLines = upstream.definition.transport.messages === 'lines'
  }

  async request(call: UpstreamCall): Sent {
    const answer = await this.#send(call)
    if (call.signal.aborted || (answer instanceof Fault && answer.kind === 'cancelled')) return undefined
    if (call.message.method !== 'tools/list' || answer instanceof Fault || !('result' in answer))
      return answer
    const result = answer.result as Json
    this.#headers.learn(result)
    return this.#hasLines ? answer : { ...answer, result: withoutFaulty(result, this.#exclude) }
  }

  /** Sends one of the gateway's own requests. */
  async ask(resolved: Resolved, method: string, own: JsonObject = {}): Promise<JsonObject | Fault> {
    const timeout = this.upstream.definition.server.startupTimeout
    const params = { ...own, _meta: ownMeta(this.version) }
    const message = ownRequest(method, params)
    const abort = new Cancellation()
    const timer = setTimeout(abort.abort, timeout)
    const answer = await this.#send({ message, resolved, headers: {}, signal: abort, onMessage: () => {} })
    clearTimeout(timer)
    return abort.aborted ? timedOut(this.upstream.name, timeout) : answer
  }

  paramHeaders(tool: string, { resolved }: Pick<UpstreamCall, 'resolved'>) {
    return this.#headers.of(tool, (page) => this.ask(resolved, 'tools/list', page))
  }

  /** Uses the probed child for callers with the same template values. */
  adopt(client: RpcClient, { key }: Resolved): SharedChild {
    const { name } = this.upstream
    const child: SharedChild = new SharedChild(client, key, name, {
      listChanged: this.#headers.forget,
      closed: (fault) => {
        this.#children.delete(child)
        if (!child.proven) this.upstream.startFailed(key, fault)
      },
    })
    this.#children.add(child)
    return child
  }

  /** Ends children unused for `idle` milliseconds. */
  sweep(idle: number): void {
    for (const child of [...this.#children])
      if (child.used <= performance.now() - idle && !child.size()) {
        this.#children.delete(child)
        child.close()
      }
  }

  close(): void {
    for (const child of [...this.#children]) child.close()
    this.#children.clear()
  }

  #send(call: Omit<UpstreamCall, 'caller'>): Promise<JsonObject | Fault> {
    return this.#hasLines ? this.#sendLine(call) : this.#sendHttp(call)
  }

  async #sendLine(call: Omit<UpstreamCall, 'caller'>): Promise<JsonObject | Fault> {
    const { resolved } = call
    const child = this.#childFor(resolved)
    if (child instanceof Fault) return child
    const answer = await child.request(call)
    if (!(answer instanceof Fault)) this.upstream.started(resolved.key)
    return answer
  }

  /** The child for these template values. */
  #childFor(resolved: Resolved): SharedChild | Fault {
    for (const child of this.#children)
      if (child.key === resolved.key) {
        child.used = performance.now()
        return child
      }
    const client = this.upstream.connect(resolved, NO_EVENTS, { user: resolved.key })
    return client instanceof Fault ? client : this.adopt(client, resolved)
  }

  async #sendHttp(call: Omit<UpstreamCall, 'caller'>): Promise<JsonObject | Fault> {
    const { message, resolved } = call
    const { params, method } = message
    const tool = method === 'tools/call' && typeof params.name === 'string' ? params.name : undefined
    const declared = async () => (tool === undefined ? [] : this.paramHeaders(tool, call))
    const answer = await requestHttp(this.upstream, resolved, call, await declared())
    if (tool === undefined || answer instanceof Fault || !isMismatch(answer)) return answer
    // The server's schemas have changed (2026-07-28, Client Behavior).
    this.#headers.forget()
    return requestHttp(this.upstream, resolved, call, await declared())
  }

  readonly #exclude = (tool: string, reason: string): void => {
    if (this.#excluded.has(tool) || this.#excluded.size >= MAX_LOGGED) return
    this.#excluded.add(tool)
    this.log.warn(
      { server: this.upstream.name, tool, fault: reason },
      'tool left out: its x-mcp-header is not valid',
    )
  }
}

function isMismatch({ error }: JsonObject): boolean {
  return isObject(error) && error.code === HEADER_MISMATCH
}

/**
 * Maximum milliseconds that a request with log messages waits for others; its answer is more important than exact
 * attribution.
 */
const WAIT_TO_LOG = 1000
/** Milliseconds without a log message after which a cancelled call is assumed to log no more. */
const QUIET = 500

/** A child that speaks 2026-07-28 and serves many callers: ids, progress tokens and subscription ids are mapped. */
export class SharedChild {
  /** Time of the last use, by `performance.now()`. */
  used = performance.now()
  /** Serializes requests with log messages, because these do not name their request. */
  readonly #logging: SessionLock

  constructor(
    private readonly client: RpcClient,
    /** Key of the template values that the child was started with. */
    readonly key: string,
    private readonly name: string,
    events: { listChanged(): void; closed(fault: Fault): void },
  ) {
    this.#logging = new SessionLock(name)
    client.events = {
      message: (message) => this.#take(message, events.listChanged),
      rejected() {},
      closed: (fault) => {
        this.#logging.close(fault)
        events.closed(fault)
      },
    }
  }

  /** Whether the child has ever answered. */
  get proven(): boolean {
    return this.client.answered
  }

  /** Number of running requests. */
  size(): number {
    return this.client.size + this.#logging.size
  }

  async request(call: Omit<UpstreamCall, 'caller'>): Promise<JsonObject | Fault> {
    const level = call.message.method === LISTEN ? undefined : metaOf(call.message.params)[LOG_LEVEL]
    const answer = await (level === undefined ? this.#send(call) : this.#sendLogging(call, level))
    this.used = performance.now()
    return answer
  }

  close(): void {
    const fault = new Fault('lost', `The server ${this.name} is being closed`)
    this.#logging.close(fault)
    this.client.close(fault)
  }

  async #sendLogging(call: Omit<UpstreamCall, 'caller'>, level: Json): Promise<JsonObject | Fault> {
    const { signal, onMessage } = call
    const holder: LockHolder = {
      caller: whoseCall(call),
      mode: 'exclusive',
      message: (raw) => {
        if (isWanted(isObject(raw.params) && raw.params.level, level)) onMessage(raw)
      },
    }
    const refused = await this.#logging.enter(holder, { signal, timeout: WAIT_TO_LOG, orWithout: true })
    if (refused) return refused
    const answer = await this.#send(call)
    if (answer instanceof Fault) this.#leaveLater(holder).catch(unexpected('the end of a call'))
    else this.#logging.leave(holder)
    return answer
  }

  /** Ends the turn of an unanswered call when the child has nothing more to log for it. */
  async #leaveLater(holder: LockHolder): Promise<void> {
    const leave = () => this.#logging.leave(holder)
    let quiet: NodeJS.Timeout | undefined
    holder.message = () => quiet?.refresh()
    // Messages before the ping's answer may belong to the call; some servers stop late or never.
    await this.client.request('ping', {}).answer
    if (this.client.ended) leave()
    else quiet = setTimeout(leave, QUIET).unref()
  }

  async #send({ message, onMessage, signal }: Omit<UpstreamCall, 'caller'>): Promise<JsonObject | Fault> {
    const { id, method, params, span } = message
    // A subscription's messages carry the client's own id.
    const tagged = (raw: JsonObject) => onMessage(retagged(raw, 'params', id))
    const options = {
      signal,
      span,
      onMessage: method === LISTEN ? tagged : onMessage,
      ...(method === LISTEN && { timeout: Infinity }),
    }
    const answer = await this.client.request(method, params, options).answer
    if (answer instanceof Fault) return answer
    return { ...(method === LISTEN ? retagged(answer, 'result', id) : answer), id }
  }

  #take(message: Message, listChanged: () => void): void {
    if (message.kind !== 'notification') return
    if (message.method === 'notifications/tools/list_changed') listChanged()
    const addressee = this.#addressee(message)
    if (addressee) addressee.onMessage?.(message.raw)
    else if (message.method === 'notifications/message') this.#logging.addressee?.message(message.raw)
  }

  /** The request that a notification names, or must belong to. */
  #addressee({ method, params }: Notification): PendingRequest | undefined {
    if (method === 'notifications/progress') return undefined
    if (method === 'notifications/cancelled') {
      const request = this.client.pending(params.requestId)
      // Only a subscription may end without an answer.
      const kind = request?.method === LISTEN ? 'cancelled' : 'lost'
      if (request) this.client.settle(request, new Fault(kind, `The server ${this.name} cancelled the call`))
      return undefined
    }
    const subscription = metaOf(params)[SUBSCRIPTION_ID]
    if (subscription !== undefined) return this.client.pending(subscription)
    if (method === 'notifications/message') return undefined
    return this.client.only((request) => request.method !== LISTEN)
  }
}

/** Replaces a message's subscription id by the client's own. */
function retagged(raw: JsonObject, key: 'params' | 'result', id: RequestId): JsonObject {
  const body = raw[key]
  if (!isObject(body) || metaOf(body)[SUBSCRIPTION_ID] === undefined) return raw
  return { ...raw, [key]: { ...body, _meta: { ...metaOf(body), [SUBSCRIPTION_ID]: id } } }
}

/** Sends a 2026-07-28 request to a streamable HTTP server and reads the answer message by message. */
async function requestHttp(
  upstream: Upstream,
  resolved: Resolved,
  call: Omit<UpstreamCall, 'resolved' | 'caller'>,
  declared: readonly ParamHeader[],
): Promise<JsonObject | Fault> {
  const { message } = call
  const operation = upstream.operations.begin(message)
  const own = { ...mirrored(message.method, message.params, declared), ...traceIn(call.headers) }
  const body = stringify(operation.traced(message).raw)
  const answer = await askHttp(upstream, resolved, call, tracedHeaders(own, operation.trace), body)
  operation.settled(answer)
  return answer
}

async function askHttp(
  upstream: Upstream,
  resolved: Resolved,
  { message, onMessage, signal }: Omit<UpstreamCall, 'resolved' | 'caller'>,
  headers: Record<string, string>,
  body: string,
): Promise<JsonObject | Fault> {
  const repeat = upstream.view.repeat(message)
  const answer = await upstream.http.send(resolved, { method: 'POST', headers, body, signal, repeat })
  if (answer instanceof Fault) return answer
  // A subscription may be silent, but a non-stream answer must end.
  const listens = message.method === LISTEN
  const isSilent = listens && mediaType(answer) === 'text/event-stream'
  if (listens && !isSilent && isEndless(answer)) {
    discard(answer)
    const said = `answered ${LISTEN} with ${mediaType(answer) || 'no media type'} instead of an event stream`
    return new Fault('invalid', `The server ${upstream.name} ${said}`)
  }
  const timeout = isSilent ? Infinity : upstream.limits.timeout
  const read = await readResponse(answer, message.id, upstream, onMessage, timeout)
  if (signal.aborted) return CANCELLATION
  return read instanceof Fault ? read : { ...read.raw, id: message.id }
}

/** Whether an answer's length is unknown; a refusal is short, or declares its length. */
function isEndless({ status, headers, whole }: HttpAnswer): boolean {
  return status < 300 && !whole && headers['content-length'] === undefined
}

/** The headers that mirror a request (2026-07-28, Request Metadata). */
export function mirrored(
  method: string,
  params: JsonObject,
  declared: readonly ParamHeader[],
): Record<string, string> {
  const headers: Record<string, string> = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': STATELESS_REVISIONS[0],
    'mcp-method': method,
  }
  const name = nameOf(method, params)
  if (typeof name === 'string') headers['mcp-name'] = encodeHeader(name)
  for (const { path, header } of declared) {
    const value = mirroredValue(params.arguments, path)
    if (value !== undefined && value !== null && !Array.isArray(value) && !isObject(value))
      headers[header] = encodeHeader(String(value))
  }
  return headers
}

/** A header value, Base64-encoded behind a sentinel if it is not plain ASCII (Value Encoding). */
export function encodeHeader(value: string): string {
  const plain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value)
  const sentinel = value.startsWith('=?base64?') && value.endsWith('?=')
  return plain && !sentinel ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`
}
