import { isObject, type JsonObject } from '../json/index.ts'
import { ELICIT, outcomeOfAnswer } from './approval.ts'
import type { ElicitationOutcome } from './call.ts'
import { has } from './protocol.ts'
import { MAX_QUESTIONS } from './questions.ts'

/** The client of a session, and the call that it is asked about. */
export interface Asked {
  /** Whether it supports elicitation by form. */
  readonly elicits: boolean
  readonly revision: string
  /** Whether a question reaches it at once. */
  isReachable(): boolean
  send(method: string, params: JsonObject): Promise<JsonObject | 'timeout' | 'busy' | undefined>
}

/** Asks the user of a session's client. */
export async function askInSession(client: Asked, params: JsonObject): Promise<ElicitationOutcome> {
  // Earlier revisions have no elicitation, whatever the client declares.
  if (!client.elicits || !has('elicitation', client.revision)) return { outcome: 'unavailable' }
  const unavailable = (why: string): ElicitationOutcome => ({ outcome: 'unavailable', why })
  if (!client.isReachable())
    return unavailable('the client accepts no text/event-stream, on which it could be asked')
  const answer = await client.send(ELICIT, params)
  if (answer === 'busy')
    return unavailable(`${MAX_QUESTIONS} questions wait for the client already: answer those first`)
  if (answer === 'timeout') return { outcome: 'timeout' }
  if (answer && 'error' in answer)
    return unavailable('the client answered the question with an error: use one that can ask')
  return { outcome: outcomeOfAnswer(isObject(answer) ? answer.result : undefined) }
}
