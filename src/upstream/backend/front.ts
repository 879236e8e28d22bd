import type { Ticket } from '../../cluster/index.ts'
import {
  type AnswerForm,
  type Attached,
  accepted,
  acceptedForm,
  allowsBatches,
  claimsRevision,
  type Door,
  type Exchange,
  errorText,
  eventStream,
  Fault,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  idOf,
  isStatelessRevision,
  json,
  leave,
  locate,
  type Message,
  type Messages,
  messageElsewhere,
  methodNotAllowed,
  notAcceptable,
  openStream,
  type RequestId,
  receive,
  reply,
  rpcError,
  type Session,
  tooMuch,
  withSession,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Request } from '../rpc/link.ts'
import type { Restored } from './session-state.ts'
import { present, recipient } from './takeover.ts'

/** A client's session with a proxied server, whatever is behind it. */
export interface ProxySession extends Attached {
  /** Answers `initialize`; the session is kept when `ok`. */
  initialize(exchange: Exchange, request: Request, text: string): Promise<Opened>
  post(exchange: Exchange, messages: Messages, form: AnswerForm): Response | Promise<Response>
  get(exchange: Exchange): Response | Promise<Response>
  /** Takes messages of the SSE transport; undefined where that has a session of another kind. */
  take?(exchange: Exchange, messages: readonly Message[], text: string): void
  /** Whether it was opened over the SSE transport. */
  readonly sse: boolean
  /** Whether a caller whose templates come to these values may use the session. */
  admits(exchange: Exchange): boolean
  /** The client's `initialize`, once it was taken. */
  handshake?: Handshake
  /** Opens the server's session in place of another server's, with the same handshake. */
  adopt(handshake: Handshake, restored: readonly Restored[]): Promise<Opened>
  /** Requests that bring a new session of the server into the state of this one. */
  restore(): Restored[]
  /** Whether a message of the client answers what this one asked, or concerns a call of it. */
  awaits(message: Message): boolean
  /** Ends the server's session and leaves the client's alone. */
  release(): void
  /** What any replica needs to go on with it; undefined when this process holds what it is. */
  carries(): Pick<Ticket, 'key' | 'upstream'> | undefined
  /** The one that this one has taken over from, which may have calls under way. */
  former?: ProxySession
}

export interface Handshake {
  request: Request
  text: string
}

export interface Opened {
  ok: boolean
  text: string
  status?: number
  headers?: Record<string, string>
}

/** What the front serves: sessions, and requests that stand alone. */
export interface Backend {
  /** Whose sessions are known. */
  owner: object
  /** Makes what serves a new session; `sse` when all answers go to one stream. */
  attach(session: Session, exchange: Exchange, sse: boolean): ProxySession | Fault
  /** Takes up what another replica opened; undefined when only that one can serve it. */
  revive(ticket: Ticket, exchange: Exchange, local: Session | undefined): Session | undefined
  stateless(
    exchange: Exchange,
    request: Request,
    text: string,
    door: Door,
    form: AnswerForm,
  ): Promise<Response>
}

/** Serves `{prefix}/mcp` of a proxied server: streamable HTTP of all revisions. */
export function serveProxy(exchange: Exchange, given: Door, backend: Backend): Response | Promise<Response> {
  const door = doorOf(exchange, given, backend)
  switch (exchange.method) {
    case 'POST':
      return post(exchange, door, backend)
    case 'GET':
      return withSession(exchange, door, async (session) => {
        if (!attached(session).admits(exchange)) return unknown(exchange)
        const served = await present(session, exchange, door, backend)
        if (!served) return unknown(exchange)
        return served instanceof Fault ? unserved(exchange, null, served) : served.get(exchange)
      })
    case 'DELETE':
      return withSession(exchange, door, (session) => {
        if (!attached(session).admits(exchange)) return unknown(exchange)
        return leave(exchange, door.hub, session)
      })
    default:
      return methodNotAllowed(exchange, 'POST, GET, DELETE')
  }
}

/** How sessions of proxied servers are found. */
function doorOf(exchange: Exchange, door: Door, { revive }: Backend): Door {
  const { prefix, hub, caller } = door
  return { prefix, hub, caller, proxied: true, revive: (ticket, local) => revive(ticket, exchange, local) }
}

/** A session of somebody else, or one that cannot go on, is answered as one that is unknown. */
function unknown(exchange: Exchange, id: RequestId | null = null): Response {
  const message = 'The session has ended: send initialize again without a session id'
  return rpcError(exchange, 404, { code: INVALID_REQUEST, message }, id)
}

function attached(session: Session): ProxySession {
  return session.attached as ProxySession
}

async function post(exchange: Exchange, door: Door, backend: Backend): Promise<Response> {
  const form = acceptedForm(exchange.headers.accept)
  if (!form) return notAcceptable(exchange, 'application/json, text/event-stream')
  const received = await receive(exchange)
  if ('refused' in received) return received.refused
  const { messages, batch, text } = received
  const [only] = messages as [Message]
  if (!batch) {
    if (only.kind === 'invalid')
      return rpcError(exchange, 400, { code: INVALID_REQUEST, message: only.reason }, only.id)
    const modern = isStatelessRevision(exchange.headers['mcp-protocol-version'])
    if (only.kind === 'request' && (modern || claimsRevision(only.params)))
      return backend.stateless(exchange, only, text, door, form)
    if (only.kind === 'notification' && (modern || claimsRevision(only.params))) return accepted(exchange)
    if (only.kind === 'request' && only.method === 'initialize')
      return open(exchange, only, text, door, backend, form)
  }
  const id = 'id' in only ? only.id : null
  const inSession = (session: Session) => {
    if (!attached(session).admits(exchange)) return unknown(exchange, id)
    if (batch && !allowsBatches(session.revision)) {
      const message = `Protocol revision ${session.revision} has no batches`
      return rpcError(exchange, 400, { code: INVALID_REQUEST, message })
    }
    const forward = (served: Awaited<ReturnType<typeof present>>) => {
      if (!served) return unknown(exchange, id)
      if (served instanceof Fault) return unserved(exchange, id, served)
      return recipient(served, messages).post(exchange, { messages, batch, text }, form)
    }
    const served = present(session, exchange, door, backend)
    return served instanceof Promise ? served.then(forward) : forward(served)
  }
  return withSession(exchange, door, inSession, id, text)
}

async function open(
  exchange: Exchange,
  request: Request,
  text: string,
  { hub, prefix, caller }: Door,
  backend: Backend,
  form: AnswerForm,
): Promise<Response> {
  const session = hub.openSession(prefix, caller, '2025-11-25', exchange.stay.sharer)
  if (typeof session === 'string') return tooMuch(exchange, session, request.id)
  const made = backend.attach(session, exchange, false)
  if (made instanceof Fault) {
    hub.endSession(session)
    return unserved(exchange, request.id, made)
  }
  session.attached = made
  const { ok, text: answer, status = 200, headers } = await made.initialize(exchange, request, text)
  const carried = made.carries()
  const named = ok && idOf(exchange, session, carried ? { kind: 'upstream', ...carried } : { kind: 'held' })
  if (named && form === 'json') return json(exchange, answer, 200, { 'mcp-session-id': named })
  if (named) {
    const response = reply(exchange, answer, form)
    response.headers.set('mcp-session-id', named)
    return response
  }
  hub.endSession(session)
  return json(exchange, answer, status, headers)
}

function unserved(exchange: Exchange, id: RequestId | null, fault: Fault): Response {
  return json(
    exchange,
    errorText(id, { code: INTERNAL_ERROR, message: fault.message }),
    fault.kind === 'busy' ? 503 : 200,
  )
}

/** Serves `{prefix}/sse`: opens the stream and names the address for messages. */
export function serveProxySse(
  exchange: Exchange,
  door: Door,
  backend: Backend,
  messagePath: string,
): Response {
  if (exchange.method !== 'GET') return methodNotAllowed(exchange, 'GET')
  const { hub, prefix, caller } = door
  const session = hub.openSession(prefix, caller, '2024-11-05', exchange.stay.sharer)
  if (typeof session === 'string') return tooMuch(exchange, session)
  const made = backend.attach(session, exchange, true)
  if (made instanceof Fault) {
    hub.endSession(session)
    return rpcError(exchange, made.kind === 'busy' ? 503 : 502, {
      code: INTERNAL_ERROR,
      message: made.message,
    })
  }
  session.attached = made
  const stream = openStream(exchange, () => {
    session.streams = []
    hub.drop(stream)
    hub.endSession(session)
  })
  session.streams.push(stream)
  hub.keep(stream)
  stream.write(
    `event: endpoint\ndata: ${messagePath}?sessionId=${idOf(exchange, session, { kind: 'held' })}\n\n`,
  )
  return eventStream(exchange, stream.body)
}

/** Serves `{prefix}/message`: takes messages of an open stream. */
export async function serveProxyMessage(exchange: Exchange, door: Door, backend: Backend): Promise<Response> {
  if (exchange.method !== 'POST') return methodNotAllowed(exchange, 'POST')
  const refuse = (status: number, message: string) =>
    rpcError(exchange, status, { code: INVALID_REQUEST, message })
  const { sessionId } = exchange.query()
  if (!sessionId) return refuse(400, 'The sessionId query parameter is missing: open the sse stream first')
  const located = locate(exchange, doorOf(exchange, door, backend), sessionId)
  if (located && 'elsewhere' in located) return messageElsewhere(exchange, located.elsewhere)
  const session = located?.session
  const [stream] = session?.streams ?? []
  const ended = 'The session is unknown or has ended: open the sse stream again'
  if (!session || !stream || !session.attached || !attached(session).take) return refuse(404, ended)
  const received = await receive(exchange)
  if ('refused' in received) return received.refused
  const { messages, batch, text } = received
  if (!attached(session).admits(exchange)) return refuse(404, ended)
  const served = await present(session, exchange, door, backend)
  if (!served) return refuse(404, ended)
  const [only] = messages
  if (!batch && only?.kind === 'invalid') return refuse(400, only.reason)
  if (!batch && only?.kind === 'request' && only.method === 'initialize')
    attached(session)
      .initialize(exchange, only, text)
      .then((opened) => stream.send(opened.text))
      .catch(unexpected('initialize', stream.close))
  else if (served instanceof Fault) {
    for (const message of messages)
      if (message.kind === 'request')
        stream.send(errorText(message.id, { code: INTERNAL_ERROR, message: served.message }))
  } else recipient(served, messages).take?.(exchange, messages, text)
  return accepted(exchange)
}
