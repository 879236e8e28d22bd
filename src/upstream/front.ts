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
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isStatelessRevision,
  json,
  type Message,
  type Messages,
  methodNotAllowed,
  notAcceptable,
  openStream,
  type RequestId,
  receive,
  reply,
  rpcError,
  type Session,
  withSession,
} from '../mcp/index.ts'
import type { Fault, Request } from './link.ts'

/** A client's session with a proxied server, whatever is behind it. */
export interface ProxySession extends Attached {
  /** Answers `initialize`; the session is kept when `ok`. */
  initialize(exchange: Exchange, request: Request, text: string): Promise<Opened>
  post(exchange: Exchange, messages: Messages, form: AnswerForm): Response | Promise<Response>
  get(exchange: Exchange): Response | Promise<Response>
  /** Takes messages of the SSE transport; undefined where that has a session of another kind. */
  take?(exchange: Exchange, messages: readonly Message[], text: string): void
}

export interface Opened {
  ok: boolean
  text: string
  status?: number
}

/** What the front serves: sessions, and requests that stand alone. */
export interface Backend {
  /** Whose sessions are known. */
  owner: object
  /** Makes what serves a new session; `sse` when all answers go to one stream. */
  attach(session: Session, exchange: Exchange, sse: boolean): ProxySession | Fault
  stateless(
    exchange: Exchange,
    request: Request,
    text: string,
    door: Door,
    form: AnswerForm,
  ): Promise<Response>
}

/** Serves `{prefix}/mcp` of a proxied server: streamable HTTP of all revisions. */
export async function serveProxy(exchange: Exchange, given: Door, backend: Backend): Promise<Response> {
  const door = { ...given, proxied: true }
  switch (exchange.method) {
    case 'POST':
      return post(exchange, door, backend)
    case 'GET':
      return withSession(exchange, door, (session) =>
        attached(session).owner === backend.owner ? attached(session).get(exchange) : replaced(exchange),
      )
    case 'DELETE':
      return withSession(exchange, door, (session) => {
        door.hub.endSession(session)
        return new Response(null, { status: 204, headers: exchange.replyHeaders })
      })
    default:
      return methodNotAllowed(exchange, 'POST, GET, DELETE')
  }
}

/** The session belongs to a server that a reload has replaced: the client begins anew. */
function replaced(exchange: Exchange, id: RequestId | null = null): Response {
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
    // What a session that is being drained is still owed: answers to its server, and cancellations.
    if (attached(session).owner !== backend.owner && messages.some(({ kind }) => kind === 'request'))
      return replaced(exchange, id)
    if (batch && !allowsBatches(session.revision)) {
      const message = `Protocol revision ${session.revision} has no batches`
      return rpcError(exchange, 400, { code: INVALID_REQUEST, message })
    }
    return attached(session).post(exchange, received, form)
  }
  return withSession(exchange, door, inSession, id)
}

async function open(
  exchange: Exchange,
  request: Request,
  text: string,
  { hub, prefix, caller }: Door,
  backend: Backend,
  form: AnswerForm,
): Promise<Response> {
  const session = hub.openSession(prefix, caller, '2025-11-25')
  const made = backend.attach(session, exchange, false)
  if ('fault' in made) {
    hub.endSession(session)
    return unserved(exchange, request, made)
  }
  session.attached = made
  const { ok, text: answer, status = 200 } = await made.initialize(exchange, request, text)
  if (ok && form === 'json') return json(exchange, answer, 200, { 'mcp-session-id': session.id })
  if (ok) {
    const response = reply(exchange, answer, form)
    response.headers.set('mcp-session-id', session.id)
    return response
  }
  hub.endSession(session)
  return json(exchange, answer, status)
}

function unserved(exchange: Exchange, { id }: Request, { fault, busy }: Fault): Response {
  return json(exchange, errorText(id, { code: INTERNAL_ERROR, message: fault }), busy ? 503 : 200)
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
  const session = hub.openSession(prefix, caller, '2024-11-05')
  const made = backend.attach(session, exchange, true)
  if ('fault' in made) {
    hub.endSession(session)
    return rpcError(exchange, made.busy ? 503 : 502, { code: INTERNAL_ERROR, message: made.fault })
  }
  session.attached = made
  const stream = openStream(() => {
    session.streams = []
    hub.drop(stream)
    hub.endSession(session)
  })
  session.streams.push(stream)
  hub.keep(stream)
  stream.write(`event: endpoint\ndata: ${messagePath}?sessionId=${session.id}\n\n`)
  return eventStream(exchange, stream.body)
}

/** Serves `{prefix}/message`: takes messages of an open stream. */
export async function serveProxyMessage(exchange: Exchange, door: Door, backend: Backend): Promise<Response> {
  if (exchange.method !== 'POST') return methodNotAllowed(exchange, 'POST')
  const refuse = (status: number, message: string) =>
    rpcError(exchange, status, { code: INVALID_REQUEST, message })
  const { sessionId } = exchange.query()
  if (!sessionId) return refuse(400, 'The sessionId query parameter is missing: open the sse stream first')
  const session = door.hub.session(sessionId, door.prefix, door.caller)
  const [stream] = session?.streams ?? []
  const ended = 'The session is unknown or has ended: open the sse stream again'
  if (!session || !stream || !session.attached || !attached(session).take) return refuse(404, ended)
  const received = await receive(exchange)
  if ('refused' in received) return received.refused
  const { messages, batch, text } = received
  if (session.attached.owner !== backend.owner && messages.some(({ kind }) => kind === 'request'))
    return refuse(404, ended)
  const [only] = messages
  if (!batch && only?.kind === 'invalid') return refuse(400, only.reason)
  if (!batch && only?.kind === 'request' && only.method === 'initialize')
    void attached(session)
      .initialize(exchange, only, text)
      .then((opened) => stream.send(opened.text))
  else attached(session).take?.(exchange, messages, text)
  return accepted(exchange)
}
