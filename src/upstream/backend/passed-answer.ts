import { StringDecoder } from 'node:string_decoder'
import { HttpResponse } from '../../access/http-response.ts'
import { memory } from '../../access/memory.ts'
import { stringify } from '../../json/index.ts'
import {
  accepted,
  type CallEnd,
  Cancellation,
  carries,
  endOfFault,
  errorText,
  event,
  Fault,
  faultResponse,
  httpStatusOf,
  INTERNAL_ERROR,
  type Kept,
  type Message,
  oneLine,
  type Request,
  type RequestContext,
  type RequestId,
  tooMuch,
} from '../../mcp/index.ts'
import { eventParser, type ServerEvent, type StreamPosition } from '../../net/index.ts'
import { timedOut } from '../rpc/rpc-client.ts'
import { endOf } from '../sent-requests.ts'
import { shapedResponse } from '../shaped-result.ts'
import { readTexts, tooLarge } from '../transport/channel.ts'
import {
  type Answered,
  answerTo,
  BODILESS,
  discard,
  type HttpAnswer,
  mediaType,
  piecesOf,
  readResponses,
  readText,
  refusal,
  refusedCaller,
  unanswered,
} from '../transport/http.ts'
import type { Upstream } from '../upstream.ts'

/** A request whose answer is being relayed. */
export class Passage implements Kept {
  readonly signal = new Cancellation()
  /** Ends the answer, once it has begun. */
  events: PassedEvents | undefined
  private given: Fault | undefined

  /** The server itself sends keep-alives. */
  write(): void {}

  abortWith(fault: Fault): void {
    this.given = fault
    if (this.events) this.events.fail(fault)
    else this.signal.abort()
  }

  /** Why there is no answer; the cause of a cancellation takes precedence over its consequence. */
  reason<Answer>(answer: Answer | Fault): Answer | Fault {
    return answer instanceof Fault ? (this.given ?? answer) : answer
  }
}

/** Called once, when the answer is complete, failed or the client is gone. */
export type OnEnd = (end: CallEnd) => void

export interface PassOptions {
  upstream: Upstream
  /** The answered requests; none for a stream of server-initiated messages. */
  requests: readonly Request[]
  /** Whether the requests came as a batch. */
  batch: boolean
  passage: Passage
  onEnd: OnEnd
  /** Whether to relay a message before the answer to the client. */
  isWanted(message: Message): boolean
}

const EVENTS = 'text/event-stream'
/** Upstream headers that are returned to a client. */
const RETURNED = ['cache-control', 'x-accel-buffering', 'retry-after', 'allow', 'mcp-protocol-version']

/** The answer of a server as far as it was read; an event stream is read while it is relayed. */
export interface Received {
  answer: HttpAnswer
  /** The responses, or why there are none; undefined: it is a stream, or answers no request. */
  read: readonly Answered[] | Fault | undefined
}

/** Reads the answer to requests, unless it is a stream. */
export async function received(
  answer: HttpAnswer,
  { requests, upstream, passage }: Pick<PassOptions, 'requests' | 'upstream' | 'passage'>,
): Promise<Received> {
  const isRead = requests.length > 0 && !refusedCaller(answer, upstream) && !isStream(answer)
  if (!isRead) return { answer, read: undefined }
  const ids = requests.map(({ id }) => id)
  return { answer, read: passage.reason(await readResponses(answer, ids, upstream, {})) }
}

function isStream(answer: HttpAnswer): boolean {
  return answer.status < 300 && mediaType(answer) === EVENTS
}

/** Relays an upstream's answer message by message; an answer that is not MCP becomes an error that says so. */
export async function passAnswer(
  context: RequestContext,
  { answer, read }: Received,
  options: PassOptions,
): Promise<HttpResponse> {
  const { requests, upstream, batch, passage, onEnd } = options
  const id = batch ? null : (requests[0]?.id ?? null)
  const fail = (fault: Fault) => {
    onEnd(endOfFault(fault))
    return failed(context, fault, id)
  }
  if (read instanceof Fault) return fail(read)
  if (read) return passRead(context, answer, read, options)
  const refused = refusal(answer, id, upstream)
  if (refused) {
    discard(answer)
    return fail(refused)
  }
  const isAnswered = requests.length > 0 || context.method !== 'POST'
  if (!isAnswered && answer.status < 300) {
    // Some servers answer a notification with 200 and `null` or an empty body.
    discard(answer)
    onEnd({ outcome: 'ok' })
    return accepted(context)
  }
  if (!isStream(answer)) return passText(context, answer, upstream, fail, onEnd)
  const events = new PassedEvents(answer, options)
  passage.events = events
  return new HttpResponse(200, returned(context, answer, EVENTS), events.stream)
}

/** The answer for a fault: a JSON-RPC error for requests, an HTTP status otherwise. */
export function failed(context: RequestContext, fault: Fault, id: RequestId | null): HttpResponse {
  const isStatus = id === null && fault.kind !== 'credentials'
  return faultResponse(context, fault, id, isStatus ? 502 : httpStatusOf(fault))
}

function returned(context: RequestContext, { headers }: HttpAnswer, type: string): Record<string, string> {
  const all: Record<string, string> = { ...context.replyHeaders, 'content-type': type }
  for (const name of RETURNED) {
    const value = headers[name]
    if (value !== undefined) all[name] = String(value)
  }
  return all
}

async function passRead(
  context: RequestContext,
  answer: HttpAnswer,
  read: readonly Answered[],
  options: PassOptions,
): Promise<HttpResponse> {
  const { status } = answer
  const shown: Shown[] = []
  for (const each of read) shown.push(await show(each, options))
  options.onEnd(status >= 400 ? { outcome: 'tool_error' } : endOfAll(shown))
  const texts = shown.map(({ text }) => text)
  const text = options.batch ? `[${texts.join(',')}]` : texts.join()
  if (!carries(context, text.length)) return tooMuch(context, 'maxBuffered', options.requests[0]?.id)
  return new HttpResponse(status < 300 ? 200 : status, returned(context, answer, 'application/json'), text)
}

/** Relays an answer to no request: a refused stream or notification, or refused credentials of the caller. */
async function passText(
  context: RequestContext,
  answer: HttpAnswer,
  upstream: Upstream,
  fail: (fault: Fault) => HttpResponse,
  onEnd: OnEnd,
): Promise<HttpResponse> {
  const { status } = answer
  const { name, limits } = upstream
  const headers = returned(context, answer, String(answer.headers['content-type'] ?? ''))
  if (headers['content-type'] === '') delete headers['content-type']
  const challenge = refusedCaller(answer, upstream)?.challenge
  if (challenge !== undefined) headers['www-authenticate'] = challenge
  let text: string | undefined = ''
  try {
    if (BODILESS.has(status)) discard(answer)
    else text = await readText(answer, limits.maxResponseSize)
  } catch (error) {
    return fail(unanswered(name, status, error))
  }
  if (text === undefined) return fail(tooLarge(name, limits.maxResponseSize))
  onEnd({ outcome: status >= 400 ? 'tool_error' : 'ok' })
  return new HttpResponse(status, headers, text)
}

interface Shown {
  text: string
  end: CallEnd
}

/** A response as the client should see it. */
async function show({ message, text }: Answered, { requests, upstream }: PassOptions): Promise<Shown> {
  const { view } = upstream
  const { raw, id } = message
  const { outcome } = endOf(raw)
  const asked = requests.filter((request) => request.id === id)
  const shaping = asked[0] && view.shaping(asked[0])
  if (!shaping) {
    const { method = '' } = asked.find((request) => view.reads(request.method)) ?? {}
    return { text: view.response(method, raw, text), end: { outcome } }
  }
  const shaped = stringify(await shapedResponse(raw, shaping))
  const savedChars = text.length - shaped.length
  return { text: shaped, end: { ...endOf(raw), ...(savedChars > 0 && { savedChars }) } }
}

function endOfAll(shown: readonly Shown[]): CallEnd {
  return shown.find(({ end }) => end.outcome !== 'ok')?.end ?? shown[0]?.end ?? { outcome: 'ok' }
}

/** Keep-alive comment, sent while an incomplete event arrives. */
const COMMENT = ':\n\n'

/**
 * Relays an event stream to the client, event by event and at its pace. If it ends without an answer, the client gets
 * an error, unless events have ids with which it can resume.
 */
export class PassedEvents {
  readonly stream: ReadableStream<Uint8Array>
  /** Requests still without an answer. */
  private readonly owed: Set<RequestId>
  private readonly shown: Shown[] = []
  private readonly position: StreamPosition = {}
  private isResumable = false
  /** Whether repeating the request would fail in the same way. */
  private isFinal = false
  private fault: Fault | undefined
  private over = false

  constructor(
    private readonly answer: HttpAnswer,
    private readonly options: PassOptions,
  ) {
    this.owed = new Set(options.requests.map(({ id }) => id))
    const pieces = this.pieces()
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const next = await pieces.next()
          if (next.done) controller.close()
          else controller.enqueue(Buffer.from(next.value))
        },
        cancel: () => {
          this.end(this.owed.size ? { outcome: 'cancelled' } : endOfAll(this.shown))
          answer.body.destroy()
        },
      },
      { highWaterMark: 0 },
    )
  }

  /** Ends the stream early. */
  fail(fault: Fault): void {
    this.fault ??= fault
    this.answer.body.destroy()
  }

  private async *pieces(): AsyncGenerator<string> {
    const { answer, options, position } = this
    const { name, limits } = options.upstream
    const [unfinished, waiting] = [memory.reserve(), memory.reserve()]
    const isAnswer = options.requests.length > 0
    const events: ServerEvent[] = []
    const tooMuch = () => {
      // A repeated answer would be too large again.
      this.isFinal = true
      this.fail(tooLarge(name, limits.maxResponseSize))
    }
    const parse = eventParser(
      limits.maxResponseSize,
      (each) => events.push(each),
      tooMuch,
      unfinished,
      position,
    )
    const decoder = new StringDecoder('utf8')
    const expire = () => this.fail(timedOut(name, limits.timeout))
    const timer = isAnswer && !this.listens ? setTimeout(expire, limits.timeout) : undefined
    let error: unknown
    try {
      for await (const chunk of piecesOf(answer)) {
        timer?.refresh()
        parse(decoder.write(chunk))
        const text = (await this.textOf(events.splice(0))) || COMMENT
        waiting.replace(text.length)
        yield text
        if (this.fault) break
      }
    } catch (thrown) {
      error = thrown
    } finally {
      clearTimeout(timer)
      unfinished.free()
      waiting.free()
    }
    const fault = this.fault ?? unanswered(name, answer.status, error)
    const missing = this.isResumable && !this.isFinal ? [] : [...this.owed]
    this.end(missing.length ? endOfFault(fault) : endOfAll(this.shown))
    if (missing.length) yield missing.map((id) => errorEvent(id, fault)).join('')
  }

  /** Whether it is a subscription, which may be silent. */
  private get listens(): boolean {
    return this.options.requests[0]?.method === 'subscriptions/listen'
  }

  private async textOf(events: readonly ServerEvent[]): Promise<string> {
    let text = ''
    for (const each of events) text += await this.passed(each)
    return text
  }

  /** The event for the client; empty if its message is not for the client. */
  private async passed({ event: name, data, id }: ServerEvent): Promise<string> {
    const { retry } = this.position
    this.position.retry = undefined
    this.isResumable ||= id !== undefined
    const head = { id, retry }
    const taken = name === 'message' ? readTexts(data) : []
    if (!taken.length) return event(data, name, head)
    const texts: string[] = []
    for (const each of taken) {
      if ('fault' in each) {
        if (!each.answers.length) continue
        this.fault ??= each.fault
        this.isFinal = true
        continue
      }
      const text = await this.message(each.message, each.text)
      if (text !== undefined) texts.push(oneLine(text))
    }
    // Only the last part gets the id, so that a client resumes after all of them.
    return texts.map((text, i) => event(text, name, i === texts.length - 1 ? head : {})).join('')
  }

  private async message(message: Message, text: string): Promise<string | undefined> {
    if (message.kind !== 'response') return this.options.isWanted(message) ? text : undefined
    const found = answerTo(message, text, [...this.owed], true)
    // A stream may carry the answer to a request whose own stream broke.
    if (!found) return this.options.requests.length ? undefined : text
    const shown = await show(found, this.options)
    this.shown.push(shown)
    if (found.message.id !== null) this.owed.delete(found.message.id)
    else this.owed.clear()
    if (!this.owed.size) this.end(endOfAll(this.shown))
    return shown.text
  }

  private end(end: CallEnd): void {
    if (!this.over) this.options.onEnd(end)
    this.over = true
  }
}

function errorEvent(id: RequestId | null, { message }: Fault): string {
  return event(errorText(id, { code: INTERNAL_ERROR, message }))
}
