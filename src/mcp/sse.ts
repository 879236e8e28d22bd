import { unexpected } from '../telemetry/unexpected.ts'
import type { Endpoint } from './backend.ts'
import { Fault } from './fault.ts'
import { accepted, type Exchange, eventStream, methodNotAllowed, rpcError, tooMuch } from './http.ts'
import { errorText, INTERNAL_ERROR, INVALID_REQUEST } from './jsonrpc.ts'
import { receive } from './receive.ts'
import { idOf, locate } from './replicas.ts'
import { EventStream } from './stream.ts'
import { adopt } from './streamable.ts'

/** HTTP with SSE, the transport of 2024-11-05: answers come on the stream, which is the session. */

/** Serves `{prefix}/sse`: opens the stream and names the address for messages. */
export function serveSse(exchange: Exchange, endpoint: Endpoint, messagePath: string): Response {
  if (exchange.method !== 'GET') return methodNotAllowed(exchange, 'GET')
  const { hub, prefix, caller, backend, account } = endpoint
  const { sharer } = exchange.stay
  // The revision is known at initialize only; until then the transport's own counts.
  const session = hub.openSession({ prefix, caller, sharer, revision: '2024-11-05', sse: true }, account)
  if (typeof session === 'string') return tooMuch(exchange, session)
  const served = backend.open(session, exchange)
  if (served instanceof Fault) {
    hub.endSession(session)
    return rpcError(exchange, served.kind === 'busy' ? 503 : 502, {
      code: INTERNAL_ERROR,
      message: served.message,
    })
  }
  session.served = served
  const stream = new EventStream(exchange, () => {
    session.streams = []
    hub.drop(stream)
    hub.endSession(session)
  })
  stream.write(`event: endpoint\ndata: ${messagePath}?sessionId=${idOf(exchange, session, undefined)}\n\n`)
  session.open(stream)
  hub.keep(stream)
  return eventStream(exchange, stream.body)
}

/** Serves `{prefix}/message`: takes messages of an open stream. */
export async function serveMessage(exchange: Exchange, endpoint: Endpoint): Promise<Response> {
  if (exchange.method !== 'POST') return methodNotAllowed(exchange, 'POST')
  const refuse = (status: number, message: string) =>
    rpcError(exchange, status, { code: INVALID_REQUEST, message })
  const { sessionId } = exchange.query()
  if (!sessionId) return refuse(400, 'The sessionId query parameter is missing: open the sse stream first')
  const located = locate(exchange, endpoint, sessionId)
  const session = located && 'session' in located ? located.session : undefined
  const [stream] = session?.streams ?? []
  const isOpen = session?.sse && stream && session.served.admits?.(exchange) !== false
  if (!isOpen && !(located && 'elsewhere' in located)) return refuse(404, ENDED)
  const received = await receive(exchange)
  if ('refused' in received) return received.refused
  if (located && 'elsewhere' in located) return (await located.elsewhere(received.text)) ?? refuse(404, ENDED)
  if (!session || !stream) return refuse(404, ENDED)
  const { messages, batch, text } = received
  const [only] = messages
  if (!batch && only?.kind === 'invalid') return refuse(400, only.reason)
  const served =
    session.served.backend === endpoint.backend ? session.served : await adopt(session, exchange, endpoint)
  if (!served) return refuse(404, ENDED)
  if (!batch && only?.kind === 'request' && only.method === 'initialize')
    Promise.resolve(session.served.initialize(session, only, text, exchange))
      .then((opened) => {
        session.served = opened.served ?? session.served
        stream.send(opened.text)
      })
      .catch(unexpected('initialize', () => stream.close()))
  else if (served instanceof Fault) {
    for (const message of messages)
      if (message.kind === 'request')
        stream.send(errorText(message.id, { code: INTERNAL_ERROR, message: served.message }))
  } else session.receive(exchange, received, endpoint.account)
  return accepted(exchange)
}

const ENDED = 'The session is unknown or has ended: open the sse stream again'
