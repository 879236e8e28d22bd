import { unexpected } from '../telemetry/unexpected.ts'
import { accepted, type Exchange, eventStream, methodNotAllowed, rpcError, tooMuch } from './http.ts'
import { INVALID_REQUEST } from './jsonrpc.ts'
import { receive } from './receive.ts'
import { idOf, locate } from './replicas.ts'
import type { Endpoint } from './service.ts'
import { answerAll, initialize } from './session.ts'
import { openStream } from './stream.ts'

/** HTTP with SSE, the transport of 2024-11-05: answers come on the stream, which is the session. */

/** Serves `{prefix}/sse`: opens the stream and names the address for messages. */
export function serveSse(exchange: Exchange, endpoint: Endpoint, messagePath: string): Response {
  if (exchange.method !== 'GET') return methodNotAllowed(exchange, 'GET')
  const { hub, prefix, caller } = endpoint
  // The revision is known at initialize only; until then the transport's own counts.
  const session = hub.openSession(prefix, caller, '2024-11-05', exchange.stay.sharer)
  if (typeof session === 'string') return tooMuch(exchange, session)
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
export async function serveMessage(exchange: Exchange, endpoint: Endpoint): Promise<Response> {
  if (exchange.method !== 'POST') return methodNotAllowed(exchange, 'POST')
  const { service } = endpoint
  const refuse = (status: number, message: string) =>
    rpcError(exchange, status, { code: INVALID_REQUEST, message })
  const { sessionId } = exchange.query()
  if (!sessionId) return refuse(400, 'The sessionId query parameter is missing: open the sse stream first')
  const located = locate(exchange, endpoint, sessionId)
  if (located && 'elsewhere' in located) return messageElsewhere(exchange, located.elsewhere)
  const session = located?.session
  const stream = session?.streams[0]
  if (!session || !stream || session.attached) return refuse(404, ENDED)
  const received = await receive(exchange)
  if ('refused' in received) return received.refused
  const { messages, batch } = received
  const [only] = messages
  if (!batch && only?.kind === 'invalid') return refuse(400, only.reason)
  if (!batch && only?.kind === 'request' && only.method === 'initialize') {
    const { revision, text } = initialize(only, service)
    if (revision) session.revision = revision
    stream.send(text)
    return accepted(exchange)
  }
  answerAll(exchange, messages, batch, service, session)
    .then((text) => {
      if (text) stream.send(text)
    })
    .catch(unexpected('a message over SSE', stream.close))
  return accepted(exchange)
}

const ENDED = 'The session is unknown or has ended: open the sse stream again'

/** A message for a stream that another replica holds. */
export async function messageElsewhere(
  exchange: Exchange,
  send: (body: string) => Promise<Response | undefined>,
): Promise<Response> {
  const received = await receive(exchange)
  if ('refused' in received) return received.refused
  const answer = await send(received.text)
  return answer ?? rpcError(exchange, 404, { code: INVALID_REQUEST, message: ENDED })
}
