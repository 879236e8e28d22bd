import {
  type AnswerForm,
  accepted,
  acceptedForm,
  type Exchange,
  eventStream,
  json,
  methodNotAllowed,
  reply,
  rpcError,
  takes,
  tooMuch,
} from './http.ts'
import type { Session } from './hub.ts'
import { INVALID_REQUEST, type Message, type RequestId } from './jsonrpc.ts'
import { type Messages, receive } from './receive.ts'
import { idOf, leave, locate, passCancellation, unknownSession } from './replicas.ts'
import { allowsBatches, isSessionRevision, isStatelessRevision } from './revisions.ts'
import type { Door, Endpoint } from './service.ts'
import { answerAll, initialize } from './session.ts'
import { answerStateless, claimsRevision, unsupported } from './stateless.ts'
import { openStream } from './stream.ts'

/** GET streams of one session at the most; the oldest gives way, as its connection is most likely dead. */
const MAX_STREAMS = 4

/** Serves `{prefix}/mcp`: streamable HTTP of all revisions, told apart by each message. */
export async function serveMcp(exchange: Exchange, endpoint: Endpoint): Promise<Response> {
  switch (exchange.method) {
    case 'POST':
      return post(exchange, endpoint)
    case 'GET':
      return withSession(exchange, endpoint, (session) => openGet(exchange, endpoint, session))
    case 'DELETE':
      return withSession(exchange, endpoint, (session) => leave(exchange, endpoint.hub, session))
    default:
      return methodNotAllowed(exchange, 'POST, GET, DELETE')
  }
}

async function post(exchange: Exchange, endpoint: Endpoint): Promise<Response> {
  const form = acceptedForm(exchange.headers.accept)
  if (!form) return notAcceptable(exchange, 'application/json, text/event-stream')
  const received = await receive(exchange)
  if ('refused' in received) return received.refused
  const { messages, batch } = received
  const [only] = messages as [Message]
  if (!batch) {
    if (only.kind === 'invalid')
      return rpcError(exchange, 400, { code: INVALID_REQUEST, message: only.reason }, only.id)
    const modern = isStatelessRevision(exchange.headers['mcp-protocol-version'])
    if (only.kind === 'request' && (modern || claimsRevision(only.params)))
      return answerStateless(exchange, only, endpoint, form)
    if (only.kind === 'notification' && (modern || claimsRevision(only.params))) return accepted(exchange)
    if (only.kind === 'request' && only.method === 'initialize') return open(exchange, only, endpoint)
  }
  const id = 'id' in only ? only.id : null
  return withSession(
    exchange,
    endpoint,
    (session) => inSession(exchange, endpoint, session, received, form),
    id,
    received.text,
  )
}

function open(
  exchange: Exchange,
  request: Extract<Message, { kind: 'request' }>,
  { service, prefix, hub, caller }: Endpoint,
): Response {
  const { revision, text } = initialize(request, service)
  if (!revision) return json(exchange, text)
  const session = hub.openSession(prefix, caller, revision, exchange.stay.sharer)
  if (typeof session === 'string') return tooMuch(exchange, session, request.id)
  return json(exchange, text, 200, { 'mcp-session-id': idOf(exchange, session, { kind: 'session' }) })
}

async function inSession(
  exchange: Exchange,
  { service }: Endpoint,
  session: Session,
  { messages, batch, text: body }: Messages,
  form: AnswerForm,
): Promise<Response> {
  if (batch && !allowsBatches(session.revision)) {
    const message = `Protocol revision ${session.revision} has no batches`
    return rpcError(exchange, 400, { code: INVALID_REQUEST, message })
  }
  const text = await answerAll(exchange, messages, batch, service, session)
  if (text === undefined) {
    if (!batch) await passCancellation(exchange, session, messages[0], body)
    return accepted(exchange)
  }
  // A cancelled request gets no response, so the stream ends without one.
  if (text === '') return eventStream(exchange, '')
  return reply(exchange, text, form)
}

/** Opens a session's GET stream, to which goes what answers no request. */
export function openGet(exchange: Exchange, { hub }: Pick<Endpoint, 'hub'>, session: Session): Response {
  const { accept } = exchange.headers
  if (accept !== undefined && !takes(accept, 'text', 'event-stream'))
    return notAcceptable(exchange, 'text/event-stream')
  const stream = openStream(exchange, () => {
    session.streams = session.streams.filter((other) => other !== stream)
    hub.drop(stream)
  })
  session.streams.push(stream)
  if (session.streams.length > MAX_STREAMS) session.streams[0]?.close()
  hub.keep(stream)
  stream.write(': open\n\n')
  return eventStream(exchange, stream.body)
}

/**
 * Runs `next` with the session that the request names. A missing id is 400; an unknown one is 404, which
 * makes the client start anew (2025-11-25, Session Management), and is never used for anything else. `id` and
 * `body` are those of a POST.
 */
export function withSession(
  exchange: Exchange,
  door: Door,
  next: (session: Session) => Response | Promise<Response>,
  id: RequestId | null = null,
  body?: string,
): Response | Promise<Response> {
  const { 'mcp-protocol-version': version, 'mcp-session-id': sessionId } = exchange.headers
  if (version !== undefined && !isSessionRevision(version)) {
    if (isStatelessRevision(version) && exchange.method !== 'POST') return methodNotAllowed(exchange, 'POST')
    return rpcError(exchange, 400, unsupported(version), id)
  }
  if (!sessionId) {
    const message = 'The Mcp-Session-Id header is missing: send initialize first, then the id it returns'
    return rpcError(exchange, 400, { code: INVALID_REQUEST, message }, id)
  }
  const located = locate(exchange, door, sessionId)
  if (located && 'elsewhere' in located)
    return located.elsewhere(body, id).then((answer) => answer ?? unknownSession(exchange, id))
  const session = located?.session
  if (session && (session.attached !== undefined) === (door.proxied ?? false)) return next(session)
  return unknownSession(exchange, id)
}

export function notAcceptable(exchange: Exchange, types: string): Response {
  const message = `The Accept header must allow ${types}`
  return rpcError(exchange, 406, { code: INVALID_REQUEST, message })
}
