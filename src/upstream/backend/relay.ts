import { stringify } from '../../json/index.ts'
import {
  type AnswerForm,
  accepted,
  type EventStream,
  type Exchange,
  errorText,
  Fault,
  type Hub,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  InFlight,
  isObject,
  isSessionRevision,
  type Message,
  type Messages,
  openReply,
  type PostReply,
  type RequestId,
  type Session,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { MAX_QUESTIONS, tooMany } from '../bridge/questions.ts'
import { INITIALIZED, type Link, type LinkEvents, pass, type Request } from '../rpc/link.ts'
import type { ToolFilter } from '../tools.ts'
import { FAILED } from '../transport/channel.ts'
import { batchReply } from './batch.ts'
import type { Handshake, Opened } from './front.ts'
import { noted, textOf } from './message.ts'
import { createLasting, type Lasting, type Restored } from './session-state.ts'
import { createWaiting } from './waiting.ts'

export interface RelayOptions {
  session: Session
  hub: Hub
  /** Milliseconds of silence after which a call is given up. */
  timeout: number
  filter: ToolFilter | undefined
  /** Writes the line of a call that is over. */
  onCall(call: { method: string; name: unknown; ms: number; requestId: string; failure?: string }): void
  /** Messages that waited for a stream of the client are lost. */
  onDropped(): void
  /** Nothing of it is left to do after a drain. */
  onIdle(): void
}

/** One client session in front of a session-based server: ids and messages pass unchanged. */
export interface Relay {
  /** What the link has to say. */
  events: LinkEvents
  /** What a server that was started anew has to be told. */
  restore: Lasting['restore']
  /** Opens the server's session by the client's `initialize`. */
  initialize(link: Link, request: Request, text: string): Promise<Opened>
  /** The same in place of another server, to which the client has said what is restored. */
  adopt(link: Link, handshake: Handshake, restored: readonly Restored[]): Promise<Opened>
  /** Whether a message of the client answers what the server asked, or concerns a call of it. */
  awaits(message: Message): boolean
  /** Takes the messages of one POST. */
  post(exchange: Exchange, messages: Messages, form: AnswerForm): Response | Promise<Response>
  /** Takes messages of the SSE transport; all answers go to its stream. */
  take(exchange: Exchange, messages: readonly Message[], text: string): void
  /** Sends what waited for a stream. */
  flush(stream: EventStream): void
  busy(): boolean
  close(): void
}

interface Pending {
  id: RequestId
  method: string
  name: unknown
  token: unknown
  reply: PostReply | undefined
  started: number
  requestId: string
  /** Frees what it holds of the gateway. */
  over(): void
  timer: NodeJS.Timeout
}

/** A progress token that no message carries. */
const NONE = Symbol('none')

export function createRelay(options: RelayOptions): Relay {
  const { session, hub, timeout, filter, onCall, onDropped, onIdle } = options
  const pending = new InFlight<RequestId, Pending>()
  /** Requests of the server that the client has not answered, and the call they belong to. */
  const asked = new Map<RequestId, Pending | undefined>()
  const { remember, restore, forget } = createLasting()
  const waiting = createWaiting(session.sharer, onDropped)
  let link: Link | undefined
  let opening = false

  /** Which call a message of the server belongs to. */
  function callOf(message: Message): Pending | undefined {
    if (message.kind === 'notification') {
      const { progressToken, requestId } = message.params
      if (message.method === 'notifications/progress')
        for (const call of pending.values()) if (call.token === progressToken) return call
      if (message.method === 'notifications/cancelled' && asked.has(requestId as RequestId))
        return asked.get(requestId as RequestId)
    }
    return pending.size === 1 ? pending.values()[0] : undefined
  }

  function deliver(message: Message, text: string): void {
    const call = callOf(message)
    if (message.kind === 'request') {
      if (asked.size >= MAX_QUESTIONS) {
        pass(link, ...tooMany(message.id))
        return
      }
      asked.set(message.id, call)
    }
    if (message.kind === 'notification' && message.method === 'notifications/cancelled')
      asked.delete(message.params.requestId as RequestId)
    call?.timer.refresh()
    const stream = session.streams.at(-1)
    const other = () => pending.values().findLast(({ reply }) => reply?.canStream())?.reply
    if (call?.reply?.canStream()) call.reply.message(text)
    else if (stream) stream.send(text)
    else if (other()) other()?.message(text)
    else waiting.push(text)
  }

  function settle(call: Pending, text: string | undefined, failure?: string, status = 200): void {
    pending.delete(call.id)
    clearTimeout(call.timer)
    call.over()
    for (const [id, of] of asked) if (of === call) asked.delete(id)
    if (call.reply) {
      hub.drop(call.reply)
      if (text === undefined) call.reply.end()
      else call.reply.answer(text, status)
    } else if (text !== undefined) session.streams[0]?.send(text)
    const { method, name, requestId, started } = call
    const ms = Math.round((performance.now() - started) * 10) / 10
    onCall({ method, name, ms, requestId, ...(failure && { failure }) })
    if (!pending.size) onIdle()
  }

  function fail(call: Pending, reason: string, status?: number): void {
    settle(call, errorText(call.id, { code: INTERNAL_ERROR, message: reason }), reason, status)
  }

  function expire(call: Pending): void {
    // As long as a client that is there is asked something, it is not the server that is silent.
    const reachable = call.reply?.canStream() || session.streams.length > 0
    if (reachable && [...asked.values()].includes(call)) {
      call.timer.refresh()
      return
    }
    const params = { requestId: call.id, reason: 'timed out' }
    const text = stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    note(noted('notifications/cancelled'), text)
    fail(call, `The server said nothing of this call for ${timeout / 1000} s; it was cancelled`)
  }

  function request(exchange: Exchange, message: Request, text: string, reply: PostReply | undefined): void {
    const { id, method, params } = message
    if (pending.has(id)) {
      const error = errorText(id, { code: INVALID_REQUEST, message: 'A request with this id is under way' })
      if (reply) reply.answer(error)
      else session.streams[0]?.send(error)
      return
    }
    const token = isObject(params._meta) ? params._meta.progressToken : undefined
    const call: Pending = {
      id,
      method,
      name: params.name,
      token: token ?? NONE,
      reply,
      started: performance.now(),
      requestId: exchange.requestId,
      over: exchange.stay.extend(),
      timer: setTimeout(() => expire(call), timeout),
    }
    pending.set(id, call)
    if (reply) hub.keep(reply)
    remember(message)
    const sent = filter ? filter.request(message) : message
    if ('code' in sent) {
      settle(call, errorText(id, sent), 'hidden tool')
      return
    }
    // What was judged is what is sent.
    const outcome = link?.send(sent, filter ? stringify(sent.raw) : text)
    if (outcome instanceof Promise)
      outcome.then(
        (fault) => fault && unsent(call, fault),
        unexpected(method, () => unsent(call, new Fault('internal', FAILED))),
      )
    else if (outcome) unsent(call, outcome)
  }

  function unsent(call: Pending, { kind, message }: Fault): void {
    if (pending.get(call.id) === call) fail(call, message, kind === 'busy' ? 503 : 200)
  }

  function note(message: Message, text: string): void {
    if (message.kind === 'response' && message.id !== null) asked.delete(message.id)
    if (message.kind === 'notification' && message.method === 'notifications/cancelled') {
      const call = pending.get(message.params.requestId as RequestId)
      // A cancelled request gets no answer (2025-11-25, Cancellation).
      if (call) settle(call, undefined, 'cancelled')
    }
    pass(link, message, text)
  }

  const relay: Relay = {
    events: {
      message(message, text) {
        if (message.kind !== 'response') {
          if (message.kind !== 'invalid') deliver(message, text)
          return
        }
        const call = message.id === null ? undefined : pending.get(message.id)
        // What came too late has nobody who waits for it.
        if (call) settle(call, filter ? filter.response(call.method, message, text) : text)
      },
      lost({ message }, ids) {
        asked.clear()
        for (const id of ids ?? pending.keys()) {
          const call = pending.get(id)
          if (call) fail(call, `${message}; the call was not repeated, the next one starts it anew`)
        }
      },
      rejected(id, { message }) {
        // Without an id it may be the answer to any of them.
        const known = id === undefined ? pending.values() : [pending.get(id)]
        for (const call of known) if (call) fail(call, message)
      },
    },
    async adopt(link, { request, text }, restored) {
      const opened = await relay.initialize(link, request, text)
      if (!opened.ok) return opened
      await link.send(noted('notifications/initialized'), INITIALIZED)
      for (const [i, { method, params }] of restored.entries()) {
        remember({ method, params })
        // Nobody waits for the answer.
        const raw = { jsonrpc: '2.0', id: `plantgw-restore-${i}`, method, params }
        await link.send({ kind: 'request', id: raw.id, method, params, raw }, stringify(raw))
      }
      return opened
    },
    awaits(message) {
      if (message.kind === 'response') return message.id !== null && asked.has(message.id)
      if (message.kind !== 'notification') return false
      const { requestId, progressToken } = message.params
      if (message.method === 'notifications/cancelled') return pending.has(requestId as RequestId)
      return progressToken !== undefined && message.method === 'notifications/progress' && asked.size > 0
    },
    restore,
    async initialize(given, request, text) {
      link = given
      opening = true
      const answer = await given.start(request, text)
      opening = false
      if (answer instanceof Fault) {
        const text = errorText(request.id, { code: INTERNAL_ERROR, message: answer.message })
        return { text, ok: false, ...(answer.kind === 'busy' && { status: 503 }) }
      }
      const { result } = answer.response.raw
      const version = isObject(result) ? result.protocolVersion : undefined
      if (isSessionRevision(version)) session.revision = version
      return { text: answer.text, ok: isObject(result) }
    },
    post(exchange, { messages, batch, text }, form) {
      const requests = messages.filter((message) => message.kind === 'request')
      if (!batch) {
        const [only] = messages as [Message]
        if (only.kind !== 'request') {
          note(only, filter ? textOf(only) : text)
          return accepted(exchange)
        }
        const made = openReply(exchange, form, () => hub.drop(made))
        request(exchange, only, text, made)
        return made.response
      }
      const answers = requests.length
        ? openReply(exchange, form, () => shared && hub.drop(shared))
        : undefined
      const { hold } = exchange.stay
      const shared: PostReply | undefined = answers && batchReply(answers, requests.length, hold)
      for (const message of messages)
        if (message.kind === 'request') request(exchange, message, textOf(message), shared)
        else if (message.kind !== 'invalid') note(message, textOf(message))
      return answers ? answers.response : accepted(exchange)
    },
    take(exchange, messages, text) {
      for (const message of messages) {
        const own = messages.length === 1 && !filter ? text : textOf(message)
        if (message.kind === 'request') request(exchange, message, own, undefined)
        else if (message.kind !== 'invalid') note(message, own)
      }
    },
    flush(stream) {
      for (const text of waiting.take()) stream.send(text)
    },
    busy: () => opening || pending.size > 0,
    close() {
      waiting.take()
      for (const call of pending.values()) fail(call, 'The session has ended')
      link?.close()
      forget()
      waiting.take()
    },
  }
  return relay
}
