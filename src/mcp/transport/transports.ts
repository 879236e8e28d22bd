import { HttpResponse } from '../../access/http-response.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { RequestContext } from '../context.ts'
import type { Endpoint } from '../endpoint.ts'
import { Fault } from '../fault.ts'
import {
  type AnswerForm,
  accepted,
  acceptedForm,
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
} from '../http.ts'
import { listingOf } from '../listing.ts'
import {
  errorText,
  FIRST_REVISION,
  FIRST_SSE_REVISION,
  has,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isSessionRevision,
  isStatelessRevision,
  METHOD_NOT_FOUND,
  type Message,
  type Messages,
  type Request,
} from '../protocol.ts'
import { beginSession, handshake, migrate } from '../session/opening.ts'
import { endElsewhere, idOf, localSession, locate, passOn, unknownSession } from '../session/replicas.ts'
import { markIn } from '../session/resumption.ts'
import type { Session } from '../session/session.ts'
import type { SessionRegistry } from '../session/session-registry.ts'
import { EventStream, PostReply } from '../session/stream.ts'
import { refusedBatch } from './rate-limit.ts'
import { receive } from './receive.ts'
import { answerStateless, claimsRevision, unsupported } from './stateless.ts'

/** Maximum GET streams of one session; beyond, the oldest is closed, as its connection is probably dead. */
const MAX_STREAMS = 4

/** Serves `{prefix}/mcp`: streamable HTTP of all revisions, distinguished by each message. */
export async function serveMcp(context: RequestContext, endpoint: Endpoint): Promise<HttpResponse> {
  switch (context.method) {
    case 'POST':
      return post(context, endpoint)
    case 'GET':
      return get(context, endpoint)
    case 'DELETE':
      return leave(context, endpoint)
    default:
      return methodNotAllowed(context.method, 'POST, GET, DELETE')
  }
}

async function post(context: RequestContext, endpoint: Endpoint): Promise<HttpResponse> {
  const form = acceptedForm(context.headers.accept)
  if (!form) return notAcceptable('application/json, text/event-stream')
  const received = await receive(context, () => searches(context, endpoint))
  if ('refused' in received) return received.refused
  const { messages, batch, text } = received
  const [only] = messages as [Message]
  if (!batch) {
    if (only.kind === 'invalid') {
      const { id, code, reason: message } = only
      const isModern = isStatelessRevision(context.headers['mcp-protocol-version'])
      const status = code === METHOD_NOT_FOUND ? (isModern ? 404 : 200) : 400
      return rpcError(status, { code, message }, id)
    }
    if (only.kind === 'request' || only.kind === 'notification') {
      const modern = isStatelessRevision(context.headers['mcp-protocol-version'])
      if (modern || claimsRevision(only.params))
        return only.kind === 'request'
          ? await answerStateless(context, only, text, endpoint, () => new PostReply(context, form))
          : accepted()
    }
    if (only.kind === 'request' && only.method === 'initialize') return open(context, only, endpoint, form)
  }
  const session = await servedSession(context, endpoint, received)
  if (session instanceof HttpResponse) return session
  if (batch && !has('batches', session.revision)) {
    const message = `Protocol revision ${session.revision} has no batches`
    return rpcError(400, { code: INVALID_REQUEST, message })
  }
  const [, answer] = await Promise.all([
    passOn(context, session, received),
    session.post(context, received, form, endpoint),
  ])
  if (!context.replicas?.isPassed) return answer
  // The replica that forwarded it gets the session's present id.
  const id = idOf(context, session, session.backendSession.ticket())
  return new HttpResponse(answer.status, { ...answer.headers, 'mcp-session-id': id }, answer.body)
}

/** Whether the client uses the discovery tools; a session keeps the mode it was opened with. */
function searches(context: RequestContext, endpoint: Endpoint): boolean {
  const { 'mcp-session-id': named } = context.headers
  const session = named === undefined ? undefined : localSession(context, endpoint, named)
  return (session ? session.listing : listingOf(context)) !== undefined
}

/** Opens a session for `initialize`. */
async function open(
  context: RequestContext,
  request: Request,
  endpoint: Endpoint,
  form: AnswerForm,
): Promise<HttpResponse> {
  const session = beginSession(context, endpoint, { revision: FIRST_REVISION, onStream: false })
  if (typeof session === 'string') return tooMuch(session, request.id)
  if (session instanceof Fault) return faultResponse(session, request.id)
  const opened = await handshake(session, request, context, endpoint)
  const { registry } = endpoint
  if (!opened.ok) {
    registry.endSession(session)
    return json(opened.text, opened.status, opened.headers)
  }
  session.opened(context)
  const headers = { 'mcp-session-id': idOf(context, session, session.backendSession.ticket()) }
  return reply(opened.text, form, headers)
}

/** Opens a session's GET stream for server-initiated messages, or resumes one. */
async function get(context: RequestContext, endpoint: Endpoint): Promise<HttpResponse> {
  const session = await servedSession(context, endpoint)
  if (session instanceof HttpResponse) return session
  const { registry } = endpoint
  if (!takesEvents(context.headers.accept)) return notAcceptable('text/event-stream')
  const lastEventId = context.headers['last-event-id']
  const found = lastEventId === undefined ? undefined : session.log.find(lastEventId)
  if (found) return openStream(context, registry, session, found)
  const resumed = lastEventId === undefined ? undefined : await resumeElsewhere(context, lastEventId)
  return (
    resumed ?? (await session.backendSession.openStream?.(context)) ?? openStream(context, registry, session)
  )
}

/** Forwards to the replica that sent the event; undefined: it is unreachable. */
async function resumeElsewhere(
  { replicas }: RequestContext,
  lastEventId: string,
): Promise<HttpResponse | undefined> {
  const mark = markIn(lastEventId)
  const owner = mark === undefined ? undefined : replicas?.addressOf(mark)
  const answer = owner === undefined ? undefined : await replicas?.forward(owner)
  return answer?.ok ? answer : undefined
}

/** @param found stream to resume, and number of the last event received */
function openStream(
  context: RequestContext,
  registry: SessionRegistry,
  session: Session,
  found?: ReturnType<Session['log']['find']>,
): HttpResponse {
  const connection = new EventStream(context, () => {
    stream.disconnected(connection)
    if (!stream.isConnected) session.streams = session.streams.filter((other) => other !== stream)
    registry.drop(connection)
  })
  const stream = found?.stream ?? session.log.open(connection)
  connection.write(': open\n\n')
  registry.keep(connection)
  if (found) stream.resume(connection, found.after)
  // On a call's own stream, send queued messages too, as they may belong to that call.
  if (found?.stream.ofCall) {
    if (!stream.ended) session.catchUp(stream)
  } else {
    session.open(stream)
    if (session.streams.length > MAX_STREAMS) session.streams[0]?.close()
  }
  return eventStream(connection.body)
}

/** Ends a session at the client's request, also on the replica that opened it. */
async function leave(context: RequestContext, endpoint: Endpoint): Promise<HttpResponse> {
  const session = await namedSession(context, endpoint)
  if (session instanceof HttpResponse) return session
  if (session.backendSession.admits?.(context) === false) return unknownSession()
  const ended = await endElsewhere(context, session)
  endpoint.registry.endSession(session, !ended, context.replicas !== undefined)
  return new HttpResponse(204)
}

/** The named session, served by the endpoint's current backend; or the answer in its place. */
async function servedSession(
  context: RequestContext,
  endpoint: Endpoint,
  received?: Messages,
): Promise<Session | HttpResponse> {
  const session = await namedSession(context, endpoint, received)
  if (session instanceof HttpResponse) return session
  const id = idIn(received)
  if (session.backendSession.admits?.(context) === false) return unknownSession(id)
  if (session.backendSession.backend === endpoint.backend) return session
  const served = await migrate(session, context, endpoint)
  if (!served) return unknownSession(id)
  return served instanceof Fault ? faultResponse(served, id) : session
}

/**
 * The named session; or the answer in its place: of the replica that has the session, 400 if the id is missing, and 404
 * if the session is unknown, so that the client initializes again (2025-11-25, Session Management).
 */
async function namedSession(
  context: RequestContext,
  endpoint: Endpoint,
  received?: Messages,
): Promise<Session | HttpResponse> {
  const id = idIn(received)
  const { 'mcp-protocol-version': version, 'mcp-session-id': sessionId } = context.headers
  if (version !== undefined && !isSessionRevision(version)) {
    if (isStatelessRevision(version) && context.method !== 'POST')
      return methodNotAllowed(context.method, 'POST')
    return rpcError(400, unsupported(version), id)
  }
  if (!sessionId) {
    const message = 'The Mcp-Session-Id header is missing: send initialize first, then the id it returns'
    return rpcError(400, { code: INVALID_REQUEST, message }, id)
  }
  const located = locate(context, endpoint, sessionId)
  if (!located) return unknownSession(id)
  if ('session' in located) {
    const { session, met } = located
    await met
    return session.isEnded ? unknownSession(id) : session
  }
  const refused = received && refusedBatch(received)
  return refused ?? (await located.elsewhere(received?.text, id)) ?? unknownSession(id)
}

/** The request id for errors; null unless there is a single request. */
function idIn(received: Messages | undefined) {
  const only = received?.messages[0]
  return only?.kind === 'request' ? only.id : null
}

/** HTTP with SSE, the transport of 2024-11-05: the stream is the session and carries all answers. */

/** Serves `{prefix}/sse`: opens the stream and names the address for messages. */
export async function serveSse(
  context: RequestContext,
  endpoint: Endpoint,
  messagePath: string,
): Promise<HttpResponse> {
  if (context.method !== 'GET') return methodNotAllowed(context.method, 'GET')
  const { registry } = endpoint
  const session = beginSession(context, endpoint, { revision: FIRST_SSE_REVISION, onStream: true })
  if (typeof session === 'string') return tooMuch(session)
  if (session instanceof Fault) {
    const { kind, message } = session
    return rpcError(kind === 'busy' ? 503 : 502, { code: INTERNAL_ERROR, message })
  }
  const stream = new EventStream(context, () => {
    session.streams = []
    registry.drop(stream)
    registry.endSession(session)
  })
  // The address must identify the session to other replicas too.
  const listing = context.listing === undefined ? '' : `&discovery=${context.listing}`
  const address = `${messagePath}?sessionId=${idOf(context, session, undefined)}${listing}`
  stream.write(event(address, 'endpoint'))
  session.open(stream)
  session.opened(context)
  registry.keep(stream)
  return eventStream(stream.body)
}

/** Serves `{prefix}/message`: receives messages of an open stream. */
export async function serveMessage(context: RequestContext, endpoint: Endpoint): Promise<HttpResponse> {
  if (context.method !== 'POST') return methodNotAllowed(context.method, 'POST')
  const refuse = (status: number, message: string) => rpcError(status, { code: INVALID_REQUEST, message })
  const { sessionId } = context.query()
  if (!sessionId) return refuse(400, 'The sessionId query parameter is missing: open the sse stream first')
  const located = locate(context, endpoint, sessionId)
  const session = located && 'session' in located ? located.session : undefined
  const [stream] = session?.streams ?? []
  const isOpen = session?.onStream && stream && session.backendSession.admits?.(context) !== false
  if (!isOpen && !(located && 'elsewhere' in located)) return refuse(404, ENDED)
  const searches = () => (session ? session.listing : listingOf(context)) !== undefined
  const received = await receive(context, searches, true)
  if ('refused' in received) return received.refused
  if (located && 'elsewhere' in located) {
    // A batch is forwarded as received, so it cannot be refused in part.
    const refused = refusedBatch(received)
    return refused ?? (await located.elsewhere(received.text)) ?? refuse(404, ENDED)
  }
  // The session may have ended while the body arrived.
  if (!session || !stream || session.isEnded) return refuse(404, ENDED)
  const { messages, batch } = received
  const [only] = messages
  if (!batch && only?.kind === 'invalid') return refuse(400, only.reason)
  const served =
    session.backendSession.backend === endpoint.backend
      ? session.backendSession
      : await migrate(session, context, endpoint)
  if (!served) return refuse(404, ENDED)
  if (!batch && only?.kind === 'request' && only.method === 'initialize')
    handshake(session, only, context, endpoint)
      .then((opened) => stream.send(opened.text))
      .catch(unexpected('initialize', () => stream.close()))
  else if (served instanceof Fault) {
    for (const message of messages)
      if (message.kind === 'request')
        stream.send(errorText(message.id, { code: INTERNAL_ERROR, message: served.message }))
  } else session.receive(context, received, endpoint)
  return accepted()
}

const ENDED = 'The session is unknown or has ended: open the sse stream again'
