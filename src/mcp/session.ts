import { stringify } from '../json/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { Cancellation } from './cancel.ts'
import type { Exchange } from './http.ts'
import type { Session } from './hub.ts'
import {
  errorText,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  type Message,
  type RequestId,
  resultText,
} from './jsonrpc.ts'
import { negotiate, type SessionRevision } from './revisions.ts'
import type { Answer, Call, Service } from './service.ts'

/** What the revisions with a handshake have in common, whatever carries the messages. */

type Request = Extract<Message, { kind: 'request' }>

/** The answer to `initialize`; `revision` is undefined when the request is wrong. */
export function initialize(
  request: Request,
  service: Service,
): { revision: SessionRevision | undefined; text: string } {
  const { id, params } = request
  if (typeof params.protocolVersion !== 'string') {
    const message = 'params.protocolVersion must be a string'
    return { revision: undefined, text: errorText(id, { code: INVALID_PARAMS, message }) }
  }
  const revision = negotiate(params.protocolVersion)
  const { info: serverInfo, capabilities, instructions } = service
  const result = {
    protocolVersion: revision,
    capabilities,
    serverInfo,
    ...(instructions && { instructions }),
  }
  return { revision, text: resultText(id, stringify(result)) }
}

/** Answers one request of a session; undefined when the client cancelled it. */
function answerInSession(
  exchange: Exchange,
  request: Request,
  service: Service,
  session: Session,
): Promise<string | undefined> | string {
  const { id, method, params } = request
  if (method === 'ping') return resultText(id, '{}')
  if (method === 'initialize')
    return errorText(id, { code: INVALID_REQUEST, message: 'The session is initialized already' })
  const answers = service.methods.get(method)
  if (!answers) return errorText(id, { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` })
  const cancellation = new Cancellation()
  const call: Call = {
    revision: session.revision,
    headers: exchange.headers,
    query: exchange.query,
    message: request.raw,
    signal: cancellation,
    requestId: exchange.requestId,
    hold: exchange.stay.hold,
  }
  // It goes on when its client goes away, and after the answer to its POST where there is another stream.
  const over = exchange.stay.extend()
  const ended = answer(id, () => answers(params, call)).finally(() => {
    over()
    if (session.calls.get(id) === underWay) session.calls.delete(id)
  })
  const underWay = { cancel: cancellation.abort, ended }
  session.calls.set(id, underWay)
  return ended.then((text) => (cancellation.aborted ? undefined : text))
}

/** The text of what a method answers; a rejection is a bug and tells the client nothing of it. */
export async function answer(
  id: RequestId,
  method: () => Answer | Promise<Answer>,
  write: (result: string) => string = (result) => result,
): Promise<string> {
  try {
    const answered = await method()
    return 'error' in answered ? errorText(id, answered.error) : resultText(id, write(answered.result))
  } catch (error) {
    unexpected('a method')(error)
    return errorText(id, { code: INTERNAL_ERROR, message: 'Internal error' })
  }
}

/** Takes a message of a session that wants no answer. */
export function takeInSession(message: Message, session: Session): void {
  if (message.kind !== 'notification' || message.method !== 'notifications/cancelled') return
  const { requestId } = message.params
  if (typeof requestId === 'string' || typeof requestId === 'number') session.calls.get(requestId)?.cancel()
}

/**
 * Answers the messages of one POST in a session.
 * @returns the text of the answer; undefined when none is owed; `''` when every request was cancelled
 */
export async function answerAll(
  exchange: Exchange,
  messages: readonly Message[],
  batch: boolean,
  service: Service,
  session: Session,
): Promise<string | undefined> {
  const [only] = messages
  if (!batch && only?.kind === 'request')
    return (await answerInSession(exchange, only, service, session)) ?? ''
  const answers: (Promise<string | undefined> | string)[] = []
  for (const message of messages) {
    if (message.kind === 'request') answers.push(answerInSession(exchange, message, service, session))
    else if (message.kind === 'invalid')
      answers.push(Promise.resolve(errorText(message.id, { code: INVALID_REQUEST, message: message.reason })))
    else takeInSession(message, session)
  }
  if (!answers.length) return undefined
  const texts = (await Promise.all(answers)).filter((text) => text !== undefined)
  if (!texts.length) return ''
  return batch ? `[${texts.join(',')}]` : texts[0]
}
