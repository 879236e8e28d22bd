import { type JsonObject, stringify } from '../../json/index.ts'
import {
  Fault,
  InFlight,
  isObject,
  type ListKind,
  METHOD_NOT_FOUND,
  type Message,
  messageOf,
  ownId,
  type RequestId,
  type Response,
  textOf,
} from '../../mcp/index.ts'
import { type StreamPosition, waitFor } from '../../net/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { within } from '../../text/index.ts'
import {
  type ChannelEvents,
  deliver,
  FAILED,
  idAmong,
  type ResumeToken,
  readData,
  tooLarge,
  withId,
} from './channel.ts'
import {
  type AnsweringServer,
  answerTo,
  discard,
  type HttpAnswer,
  mediaType,
  type Repeat,
  readAnswer,
  readResponse,
  refusal,
  refusedCaller,
  unanswered,
} from './http.ts'
import { EVENTS, HttpChannel, isUnexecuted, logForgotten } from './http-channel.ts'
import { announce, announcedLists, LastingStream } from './lasting-stream.ts'

/**
 * Milliseconds to wait for a server to open or refuse its event stream; some send the headers with the first event
 * only.
 */
const OPENING = 500
/** Statuses with which servers report an unknown session, although only 404 is correct. */
const FORGOTTEN = new Set([400, 404, 405, 410])
/** Maximum attempts to resume the stream of an answer without a further event, and milliseconds before each. */
const MAX_RESUMED = 3
const LONGEST_RETRY = 30_000
/** Milliseconds in which a server that has forgotten a session refuses the other requests of the session. */
const REFUSING = 500
const ACCEPT = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** Statuses that do not mean an unknown session: credentials, sizes and rates. */
const OTHERWISE = new Set([401, 403, 407, 408, 413, 429])
/** Error codes for a missing method or resource. */
const ABSENT = new Set<unknown>([METHOD_NOT_FOUND, -32002])

/**
 * A key of a server's refusal, equal for refusals with a possible common cause; undefined: no refusal.
 * @param answer the response or fault; absent: the request expects none
 */
function refusalOf(status: number, answer: JsonObject | Fault | undefined): string | undefined {
  if (OTHERWISE.has(status)) return undefined
  const error = answer instanceof Fault ? undefined : answer?.error
  if (isObject(error)) return ABSENT.has(error.code) ? undefined : `${status}, error ${String(error.code)}`
  return status >= 400 ? String(status) : undefined
}

/**
 * Whether a refusal means that the server forgot the session. 404 says so (2025-11-25, Session Management); many
 * servers use other errors, with which they also refuse a ping in the session.
 * @param refusal of the request
 * @param send sends a message in the same session
 */
async function isForgotten(
  refusal: string,
  status: number,
  upstream: AnsweringServer,
  send: (body: string) => Promise<HttpAnswer | Fault>,
): Promise<boolean> {
  if (status === 404) return true
  const id = ownId()
  const answer = await send(stringify(messageOf('ping', {}, id)))
  if (answer instanceof Fault) return false
  const read = await readResponse(answer, id, upstream)
  return refusalOf(answer.status, read instanceof Fault ? read : read.raw) === refusal
}

/** A session with a streamable HTTP server of a session-based revision, as one message channel. */
export class StreamableChannel extends HttpChannel {
  readonly ended: Promise<void>
  get isOpen(): boolean {
    return this.#revision !== undefined
  }
  /** Requests without an answer. */
  readonly #awaited = new Set<RequestId>()
  /** Requests under way. */
  readonly #requests = new Set<Promise<void>>()
  /** Once the server has forgotten the session: the requests that it has not executed, each with its error text. */
  #refused: Map<RequestId, string> | undefined
  /** Errors received but not yet classified. */
  readonly #errors = new Map<RequestId, Response>()
  readonly #work = new InFlight<Promise<void>, true>()
  /**
   * Requests wait for earlier notifications and responses, which must arrive first, and for the event stream, because
   * messages before it opens are lost.
   */
  #noted: Promise<void> = Promise.resolve()
  #sessionId: string | undefined
  /** The request that opened the session. */
  #handshake = ''
  #revision: string | undefined
  readonly listening: Promise<void>
  #isListening = false
  /** Whether the event stream is open. */
  #hears = false
  /** Whether requests did not wait for the event stream, so that messages may have been missed. */
  #wentAhead = false
  #onListening: () => void = () => {}
  /** Kinds of lists whose changes the server announces. */
  #lists: ListKind[] = []
  #finish: () => void = () => {}

  constructor(...given: ConstructorParameters<typeof HttpChannel>) {
    super(...given)
    this.ended = new Promise((resolve) => {
      this.#finish = resolve
    })
    this.listening = new Promise((resolve) => {
      this.#onListening = resolve
    })
    const { resume } = this.options
    if (!resume) return
    this.#sessionId = resume.id
    this.#revision = resume.revision
    this.#onListening()
  }

  get resume(): ResumeToken | undefined {
    const revision = this.#revision
    return this.closing || revision === undefined ? undefined : { id: this.#sessionId, revision }
  }

  detach(): void {
    this.#sessionId = undefined
  }

  listen(): void {
    if (this.#isListening || this.closing) return
    this.#isListening = true
    this.#track(this.#noted.then(() => (this.closing ? undefined : this.#listen())))
  }

  protected take(message: Message, own?: Readonly<Record<string, string>>): Fault | undefined {
    const text = textOf(message)
    if (message.kind === 'request') {
      if (message.method === 'initialize') this.#handshake = text
      this.#awaited.add(message.id)
      if (this.#refused) this.#refused.set(message.id, this.#forgottenText)
      else {
        const sent = this.#request(text, message.id, this.options.repeat(message), own)
        const ended = sent.finally(() => this.#requests.delete(ended))
        this.#requests.add(ended)
        this.#track(ended)
      }
      return undefined
    }
    const fault = this.outgoing.add(text)
    if (fault) {
      this.#onListening()
      return fault
    }
    this.#noted = this.#noted
      .then(() => (this.closing ? undefined : this.#note('POST', text)))
      .finally(() => this.outgoing.sent(text))
    this.#track(this.#noted)
    // The client's handshake may end at another replica than the one that holds the stream.
    const begins = message.kind === 'notification' && message.method === 'notifications/initialized'
    if (begins && !this.options.resume && !this.#isListening) {
      this.listen()
      this.#noted = this.#noted.then(() => this.listening)
      this.#track(this.#noted)
    }
    return undefined
  }

  protected leave(): void {
    this.#onListening()
    if (this.#sessionId !== undefined) this.#track(this.#note('DELETE'))
    Promise.all(this.#work.keys()).then(this.#finish, this.#finish)
  }

  /** Registers work that the end of the session waits for; a bug ends the session. */
  #track(promise: Promise<void>): void {
    const fall = () => this.fail(new Fault('internal', FAILED))
    const tracked = promise
      .catch(unexpected('a session over streamable HTTP', fall))
      .finally(() => this.#work.delete(tracked))
    this.#work.set(tracked, true)
  }

  async #request(
    body: string,
    id: RequestId,
    repeat: Repeat | undefined,
    own: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    await this.#noted
    if (this.closing) return
    const headers = { ...ACCEPT, ...own, ...this.#headers() }
    const session = this.#sessionId
    const answer = await this.options.http.send(this.resolved, {
      method: 'POST',
      headers,
      body,
      signal: this.abort,
      repeat,
    })
    if (answer instanceof Fault && answer.isUnexecuted) return this.#end(answer, answer, id)
    if (answer instanceof Fault) return this.#fail(id, answer)
    const given = answer.headers['mcp-session-id']
    if (given !== undefined) this.#sessionId ??= String(given)
    // The answer comes on the event stream, where the official SDKs read it, too.
    if (answer.status === 202 && this.#hears) return discard(answer)
    const refused = refusedCaller(answer, this) ?? refusal(answer, id, this)
    if (refused) discard(answer)
    const error = refused ? undefined : await this.#readAll(answer, id)
    const answered = this.#errors.get(id)
    this.#errors.delete(id)
    const why = session && refusalOf(answer.status, refused ?? answered?.raw)
    const ping = (body: string) =>
      this.options.http.send(this.resolved, { method: 'POST', headers, body, signal: this.abort })
    const isLost = why !== undefined && (await isForgotten(why, answer.status, this.#upstream, ping))
    if (isLost && (answer.status < 500 || (await this.#isCured()))) {
      const error = answered?.raw.error
      const words = refused?.message ?? (isObject(error) ? String(error.message) : why)
      const again = isUnexecuted(answer.status) || repeat === 'always'
      return this.#forgotten(why, again ? [id, words] : undefined)
    }
    if (answered) {
      this.#answered(answered)
      this.events.message(answered)
    }
    this.#fail(id, refused ?? unanswered(this.name, answer.status, error))
  }

  /** Reads the answer to a request. A stream that ends early continues where its events have ids (2025-11-25, Resumability). */
  async #readAll(answer: HttpAnswer, id: RequestId): Promise<unknown> {
    const position: StreamPosition = {}
    const error = await this.#read(answer, id, position)
    for (let tried = 0; tried < MAX_RESUMED && position.id !== undefined; tried++) {
      if (this.closing || !this.#awaited.has(id) || this.#errors.has(id)) break
      await waitFor(Math.min(position.retry ?? 0, LONGEST_RETRY), this.abort)
      const before = position.id
      const headers = { accept: EVENTS, ...this.#headers(), 'last-event-id': before }
      const request = { method: 'GET', headers, signal: this.abort } as const
      const next = this.closing ? undefined : await this.options.http.send(this.resolved, request)
      if (!next || next instanceof Fault) break
      if (next.status >= 300 || mediaType(next) !== EVENTS) {
        discard(next)
        break
      }
      await this.#read(next, id, position)
      if (position.id !== before) tried = 0
    }
    return error
  }

  /** Whether the server accepts a new session; otherwise it is down, and may remember this one when it is up again. */
  async #isCured(): Promise<boolean> {
    const { http } = this.options
    const request = { method: 'POST', headers: ACCEPT, body: this.#handshake, signal: this.abort } as const
    const answer = await http.send(this.resolved, request)
    if (answer instanceof Fault) return false
    discard(answer)
    const session = answer.headers['mcp-session-id']
    const headers = { ...this.#headers(), 'mcp-session-id': String(session) }
    if (session !== undefined) this.#track(this.#note('DELETE', undefined, headers))
    return answer.status < 300
  }

  get #upstream() {
    const { name, definition, options } = this
    const limits = { ...options.limits, maxResponseSize: options.maxMessage }
    return { name, definition, limits, log: options.log }
  }

  /** Sends a request without a JSON-RPC answer. */
  async #note(method: 'POST' | 'DELETE', body?: string, own = this.#headers()): Promise<void> {
    const headers = { ...(body !== undefined && ACCEPT), ...own }
    const request = { method, headers, ...(body !== undefined && { body }) }
    const answer = await this.options.http.send(this.resolved, request)
    if (!(answer instanceof Fault)) discard(answer)
  }

  get #forgottenText(): string {
    return `The server ${this.name} has forgotten the session`
  }

  /** @param refused a request that may be repeated in another session, and the server's error text */
  #forgotten(why: string, refused?: [id: RequestId, words: string]): void {
    if (this.closing) return
    const isFirst = !this.#refused
    this.#refused ??= new Map()
    if (refused) this.#refused.set(...refused)
    if (!isFirst) return
    logForgotten(this.#upstream, why)
    // The server refuses the other requests, too: each may be repeated once its own refusal is there.
    this.#track(within(REFUSING, Promise.all(this.#requests), () => {}).then(() => this.#endForgotten()))
  }

  #endForgotten(): void {
    // The error may repeat in another session, so the server's own text is kept.
    for (const [id, words] of this.#refused ?? [])
      this.#fail(id, new Fault('lost', words, { status: 404, isUnexecuted: true }))
    this.#end(new Fault('lost', this.#forgottenText, { status: 404 }))
  }

  /** Ends a session that the server has forgotten, or that must send it no request. @param refused fault of a request */
  #end(fault: Fault, refused?: Fault, id?: RequestId): void {
    if (this.closing) return
    this.#sessionId = undefined
    if (refused && id !== undefined) this.#fail(id, refused)
    this.fail(fault)
  }

  /** Keeps the stream for server-initiated messages open, if the server has one. */
  async #listen(): Promise<void> {
    const { http, streams } = this.options
    const stream = new LastingStream(streams, this.abort)
    const position: StreamPosition = {}
    let answered: ((isAnswer: boolean) => void) | undefined = this.#waitForStream()
    let reason: string
    let wasOpen = false
    do {
      let isOpen = false
      const { id } = position
      const headers = {
        accept: EVENTS,
        ...this.#headers(),
        ...(id !== undefined && { 'last-event-id': id }),
      }
      const request = { method: 'GET', headers, signal: this.abort } as const
      const answer = await http.send(this.resolved, request)
      answered?.(!(answer instanceof Fault))
      answered = undefined
      if (this.closing) reason = ''
      else if (answer instanceof Fault && answer.isUnexecuted) return this.#end(answer)
      else if (answer instanceof Fault) reason = answer.message
      else if (answer.status < 300 && mediaType(answer) === EVENTS) {
        isOpen = true
        if (stream.opened() || this.#wentAhead) announce(this.#lists, this.events.message)
        this.#wentAhead = false
        this.#hears = true
        await this.#read(answer, undefined, position)
        this.#hears = false
        reason = `The server ${this.name} closed its event stream`
      } else {
        discard(answer)
        if (!stream.known) return
        // Servers report an unknown session in this way; a new session is then opened.
        if (FORGOTTEN.has(answer.status)) return this.#forgotten(String(answer.status))
        reason = `The server ${this.name} answered ${answer.status} where an event stream was expected`
      }
      if (wasOpen && !isOpen && !this.closing) this.events.silent?.()
      wasOpen = isOpen
    } while (await stream.lost(reason, position.retry))
  }

  /**
   * Limits how long requests wait for the event stream. @returns called after the first attempt, with whether the
   * server answered
   */
  #waitForStream(): (isAnswer: boolean) => void {
    const { streams } = this.options
    const since = performance.now()
    const goAhead = () => {
      streams.opensLate = true
      this.#wentAhead = true
      this.#onListening()
    }
    const timer = streams.opensLate ? undefined : setTimeout(goAhead, OPENING)
    if (!timer) goAhead()
    return (isAnswer) => {
      clearTimeout(timer)
      if (isAnswer) streams.opensLate = performance.now() - since > OPENING
      this.#onListening()
    }
  }

  #headers(): Record<string, string> {
    return {
      ...(this.#sessionId !== undefined && { 'mcp-session-id': this.#sessionId }),
      ...(this.#revision !== undefined && { 'mcp-protocol-version': this.#revision }),
    }
  }

  #read(answer: HttpAnswer, id?: RequestId, position?: StreamPosition): Promise<unknown> {
    const { maxMessage } = this.options
    const isStream = mediaType(answer) === EVENTS
    const onTooLarge = () => this.events.rejected(id, tooLarge(this.name, maxMessage))
    return readAnswer(answer, maxMessage, (data) => this.#take(data, id, isStream), onTooLarge, position)
  }

  /**
   * @param own the request whose answer contained it
   * @param isStream whether the answer is a stream
   */
  #take(data: string, own: RequestId | undefined, isStream: boolean): void {
    if (this.closing) return
    const taker: Pick<ChannelEvents, 'message' | 'rejected'> = {
      message: (message) => {
        if (message.kind !== 'response') return this.events.message(message)
        const other = idAmong(message.id, (id) => this.#awaited.has(id))
        const answered = other === undefined ? answerTo(message, own, isStream) : withId(message, other)
        if (!answered) return
        if (!isStream && own !== undefined && answered.id === own && isObject(answered.raw.error)) {
          // The error may concern the session, not the request.
          this.#errors.set(own, answered)
          return
        }
        this.#answered(answered)
        this.events.message(answered)
      },
      rejected: (id = own, fault) => {
        if (id !== undefined) this.#awaited.delete(id)
        this.events.rejected(id, fault)
      },
    }
    deliver(readData(data), taker, this.options.log, { server: this.name })
  }

  #answered({ id, raw: { result } }: Response): void {
    if (id !== null) this.#awaited.delete(id)
    if (!isObject(result) || typeof result.protocolVersion !== 'string' || this.#revision) return
    this.#revision = result.protocolVersion
    this.#lists = announcedLists(result.capabilities)
  }

  /** Fails a request in the server's place. */
  #fail(id: RequestId, fault: Fault): void {
    if (!this.closing && this.#awaited.delete(id)) this.events.rejected(id, fault)
  }
}
