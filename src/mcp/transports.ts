import { HttpResponse } from '../access/http-response.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import type { Endpoint } from './backend.ts'
import { listingOf } from './discover.ts'
import { Fault } from './fault.ts'
import {
  type AnswerForm,
  accepted,
  acceptedForm,
  type Exchange,
  event,
  eventStream,
  faultResponse,
  json,
  methodNotAllowed,
  notAcceptable,
  reply,
  rpcError,
  takesEvents,
  tooMuch,
} from './http.ts'
import type { Hub } from './hub.ts'
import { adopt, beginSession, FIRST_REVISION, handshake } from './opening.ts'
import {
  allowsBatches,
  errorText,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isSessionRevision,
  isStatelessRevision,
  METHOD_NOT_FOUND,
  type Message,
  type Request,
} from './protocol.ts'
import { type Messages, receive } from './receive.ts'
import { refusedBatch } from './refused.ts'
import { endElsewhere, idOf, localSession, locate, passOn, unknownSession } from './replicas.ts'
import { markIn } from './resumption.ts'
import type { Session } from './session.ts'
import { answerAlone, claimsRevision, unsupported } from './stateless.ts'
import { EventStream, PostReply } from './stream.ts'

/** Maximum GET streams of one session; beyond, the oldest is closed, as its connection is probably dead. */
const MAX_STREAMS = 4

/** Serves `{prefix}/mcp`: streamable HTTP of all revisions, distinguished by each message. */
export function serveMcp(exchange: Exchange, endpoint: Endpoint): HttpResponse | Promise<HttpResponse> {
  switch (exchange.method) {
    case 'POST':
      return post(exchange, endpoint)
    case 'GET':
      return inSession(exchange, endpoint, (session) => get(exchange, endpoint, session))
    case 'DELETE':
      return leave(exchange, endpoint)
    default:
      return methodNotAllowed(exchange, 'POST, GET, DELETE')
  }
}

async function post(exchange: Exchange, endpoint: Endpoint): Promise<HttpResponse> {
  const form = acceptedForm(exchange.headers.accept)
  if (!form) return notAcceptable(exchange, 'application/json, text/event-stream')
  const received = await receive(exchange, () => searches(exchange, endpoint))
  if ('refused' in received) return received.refused
  const { messages, batch, text } = received
  const [only] = messages as [Message]
  if (!batch) {
    if (only.kind === 'invalid') {
      const { id, code, reason: message } = only
      const isModern = isStatelessRevision(exchange.headers['mcp-protocol-version'])
      const status = code === METHOD_NOT_FOUND ? (isModern ? 404 : 200) : 400
      return rpcError(exchange, status, { code, message }, id)
    }
    if (only.kind === 'request' || only.kind === 'notification') {
      const modern = isStatelessRevision(exchange.headers['mcp-protocol-version'])
      if (modern || claimsRevision(only.params))
        return only.kind === 'request'
          ? await answerAlone(exchange, only, text, endpoint, () => new PostReply(exchange, form))
          : accepted(exchange)
    }
    if (only.kind === 'request' && only.method === 'initialize')
      return open(exchange, only, text, endpoint, form)
  }
  return await inSession(
    exchange,
    endpoint,
    (session) => {
      if (batch && !allowsBatches(session.revision)) {
        const message = `Protocol revision ${session.revision} has no batches`
        return rpcError(exchange, 400, { code: INVALID_REQUEST, message })
      }
      const passed = exchange.replicas && passOn(exchange, session, received)
      const answered = session.post(exchange, received, form, endpoint.account)
      return passed ? passed.then(() => answered) : answered
    },
    received,
  )
}

/** Whether the client uses the discovery tools; a session keeps the mode it was opened with. */
function searches(exchange: Exchange, endpoint: Endpoint): boolean {
  const { 'mcp-session-id': named } = exchange.headers
  const session = named === undefined ? undefined : localSession(exchange, endpoint, named)
  return (session ? session.listing : listingOf(exchange)) !== undefined
}

/** Opens a session for `initialize`. */
async function open(
  exchange: Exchange,
  request: Request,
  text: string,
  endpoint: Endpoint,
  form: AnswerForm,
): Promise<HttpResponse> {
  const session = await beginSession(exchange, endpoint, { revision: FIRST_REVISION, onStream: false })
  if (typeof session === 'string') return tooMuch(exchange, session, request.id)
  if (session instanceof Fault) return faultResponse(exchange, session, request.id)
  const opened = await handshake(session, request, text, exchange, endpoint)
  const { hub } = endpoint
  if (!opened.ok) {
    hub.endSession(session)
    return json(exchange, opened.text, opened.status, opened.headers)
  }
  session.opened(exchange)
  const headers = { 'mcp-session-id': idOf(exchange, session, session.served.ticket()) }
  return reply(exchange, opened.text, form, headers)
}

/** Opens a session's GET stream for server-initiated messages, or resumes one. */
function get(exchange: Exchange, { hub }: Endpoint, session: Session): HttpResponse | Promise<HttpResponse> {
  const { passThrough } = session.served
  if (passThrough) return passThrough.get(exchange)
  if (!takesEvents(exchange.headers.accept)) return notAcceptable(exchange, 'text/event-stream')
  const lastEventId = exchange.headers['last-event-id']
  const found = lastEventId === undefined ? undefined : session.log.find(lastEventId)
  if (found || lastEventId === undefined) return openStream(exchange, hub, session, found)
  return goOnElsewhere(exchange, lastEventId).then((answer) => answer ?? openStream(exchange, hub, session))
}

/** Forwards to the replica that sent the event; undefined: it is unreachable. */
async function goOnElsewhere({ replicas }: Exchange, lastEventId: string): Promise<HttpResponse | undefined> {
  const mark = markIn(lastEventId)
  const owner = mark === undefined ? undefined : replicas?.marked(mark)
  const answer = owner === undefined ? undefined : await replicas?.forward(owner)
  return answer?.ok ? answer : undefined
}

/** @param found stream to resume, and number of the last event received */
function openStream(
  exchange: Exchange,
  hub: Hub,
  session: Session,
  found?: ReturnType<Session['log']['find']>,
): HttpResponse {
  const connection = new EventStream(exchange, () => {
    stream.disconnected(connection)
    if (!stream.isConnected) session.streams = session.streams.filter((other) => other !== stream)
    hub.drop(connection)
  })
  const stream = found?.stream ?? session.log.open(connection)
  connection.write(': open\n\n')
  hub.keep(connection)
  if (found) stream.resume(connection, found.after)
  // On a call's own stream, send queued messages too, as they may belong to that call.
  if (found?.stream.ofCall) {
    if (!stream.ended) session.catchUp(stream)
  } else {
    session.open(stream)
    if (session.streams.length > MAX_STREAMS) session.streams[0]?.close()
  }
  return eventStream(exchange, connection.body)
}

/** Ends a session at the client's request, also on the replica that opened it. */
function leave(exchange: Exchange, endpoint: Endpoint): HttpResponse | Promise<HttpResponse> {
  return withSession(exchange, endpoint, async (session) => {
    if (session.served.admits?.(exchange) === false) return unknownSession(exchange)
    const ended = await endElsewhere(exchange, session)
    endpoint.hub.endSession(session, !ended, exchange.replicas !== undefined)
    return new HttpResponse(204, exchange.replyHeaders)
  })
}

type Next = (session: Session) => HttpResponse | Promise<HttpResponse>

/** Runs `next` with the named session, once the endpoint's current backend serves it. */
function inSession(
  exchange: Exchange,
  endpoint: Endpoint,
  next: Next,
  received?: Messages,
): HttpResponse | Promise<HttpResponse> {
  const id = idIn(received)
  return withSession(
    exchange,
    endpoint,
    (session) => {
      if (session.served.admits?.(exchange) === false) return unknownSession(exchange, id)
      if (session.served.backend === endpoint.backend) return next(session)
      return adopt(session, exchange, endpoint).then((served) => {
        if (!served) return unknownSession(exchange, id)
        return served instanceof Fault ? faultResponse(exchange, served, id) : next(session)
      })
    },
    received,
  )
}

/**
 * Runs `next` with the named session. A missing id is 400; an unknown one is 404, after which the client initializes
 * again (2025-11-25, Session Management), and is never reused.
 */
function withSession(
  exchange: Exchange,
  endpoint: Endpoint,
  next: Next,
  received?: Messages,
): HttpResponse | Promise<HttpResponse> {
  const id = idIn(received)
  const { 'mcp-protocol-version': version, 'mcp-session-id': sessionId } = exchange.headers
  if (version !== undefined && !isSessionRevision(version)) {
    if (isStatelessRevision(version) && exchange.method !== 'POST') return methodNotAllowed(exchange, 'POST')
    return rpcError(exchange, 400, unsupported(version), id)
  }
  if (!sessionId) {
    const message = 'The Mcp-Session-Id header is missing: send initialize first, then the id it returns'
    return rpcError(exchange, 400, { code: INVALID_REQUEST, message }, id)
  }
  const located = locate(exchange, endpoint, sessionId)
  if (!located) return unknownSession(exchange, id)
  if ('session' in located) {
    const { session, met } = located
    if (!met) return next(session)
    return met.then(() => (session.isEnded ? unknownSession(exchange, id) : next(session)))
  }
  const refused = received && refusedBatch(exchange, received)
  if (refused) return refused
  return located.elsewhere(received?.text, id).then((answer) => answer ?? unknownSession(exchange, id))
}

/** The request id for errors; null unless there is a single request. */
function idIn(received: Messages | undefined) {
  const only = received?.messages[0]
  return only?.kind === 'request' ? only.id : null
}

/** HTTP with SSE, the transport of 2024-11-05: the stream is the session and carries all answers. */

/** Serves `{prefix}/sse`: opens the stream and names the address for messages. */
export async function serveSse(
  exchange: Exchange,
  endpoint: Endpoint,
  messagePath: string,
): Promise<HttpResponse> {
  if (exchange.method !== 'GET') return methodNotAllowed(exchange, 'GET')
  const { hub } = endpoint
  // The revision is negotiated later; until then, the transport's own applies.
  const session = await beginSession(exchange, endpoint, { revision: '2024-11-05', onStream: true })
  if (typeof session === 'string') return tooMuch(exchange, session)
  if (session instanceof Fault) {
    const { kind, message } = session
    return rpcError(exchange, kind === 'busy' ? 503 : 502, { code: INTERNAL_ERROR, message })
  }
  const stream = new EventStream(exchange, () => {
    session.streams = []
    hub.drop(stream)
    hub.endSession(session)
  })
  // The address must identify the session to other replicas too.
  const listing = exchange.listing === undefined ? '' : `&discovery=${exchange.listing}`
  const address = `${messagePath}?sessionId=${idOf(exchange, session, undefined)}${listing}`
  stream.write(event(address, 'endpoint'))
  session.open(stream)
  session.opened(exchange)
  hub.keep(stream)
  return eventStream(exchange, stream.body)
}

/** Serves `{prefix}/message`: receives messages of an open stream. */
export async function serveMessage(exchange: Exchange, endpoint: Endpoint): Promise<HttpResponse> {
  if (exchange.method !== 'POST') return methodNotAllowed(exchange, 'POST')
  const refuse = (status: number, message: string) =>
    rpcError(exchange, status, { code: INVALID_REQUEST, message })
  const { sessionId } = exchange.query()
  if (!sessionId) return refuse(400, 'The sessionId query parameter is missing: open the sse stream first')
  const located = locate(exchange, endpoint, sessionId)
  const session = located && 'session' in located ? located.session : undefined
  const [stream] = session?.streams ?? []
  const isOpen = session?.onStream && stream && session.served.admits?.(exchange) !== false
  if (!isOpen && !(located && 'elsewhere' in located)) return refuse(404, ENDED)
  const searches = () => (session ? session.listing : listingOf(exchange)) !== undefined
  const received = await receive(exchange, searches, true)
  if ('refused' in received) return received.refused
  if (located && 'elsewhere' in located) {
    // A batch is forwarded as received, so it cannot be refused in part.
    const refused = refusedBatch(exchange, received)
    return refused ?? (await located.elsewhere(received.text)) ?? refuse(404, ENDED)
  }
  // The session may have ended while the body arrived.
  if (!session || !stream || session.isEnded) return refuse(404, ENDED)
  const { messages, batch, text } = received
  const [only] = messages
  if (!batch && only?.kind === 'invalid') return refuse(400, only.reason)
  const served =
    session.served.backend === endpoint.backend ? session.served : await adopt(session, exchange, endpoint)
  if (!served) return refuse(404, ENDED)
  if (!batch && only?.kind === 'request' && only.method === 'initialize')
    handshake(session, only, text, exchange, endpoint)
      .then((opened) => stream.send(opened.text))
      .catch(unexpected('initialize', () => stream.close()))
  else if (served instanceof Fault) {
    for (const message of messages)
      if (message.kind === 'request')
        stream.send(errorText(message.id, { code: INTERNAL_ERROR, message: served.message }))
  } else session.receive(exchange, received, endpoint.account)
  return accepted(exchange)
}

const ENDED = 'The session is unknown or has ended: open the sse stream again'
