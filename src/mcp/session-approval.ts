import {
  ELICIT,
  outcomeOfAnswer,
  questionFor,
  refuseUnapproved,
  type ToolToApprove,
  toolToApprove,
  type Unapproved,
} from './approval.ts'
import { sessionSource } from './list-source.ts'
import { MAX_QUESTIONS } from './questions.ts'
import type { Session, SessionCall } from './session.ts'

/** Whether a session's call is approved or needs no approval; otherwise answers it. */
export async function isApproved(session: Session, call: SessionCall): Promise<boolean> {
  const tool = await toolToApprove(call, sessionSource(session, call))
  if (!tool || tool === 'free') return tool === 'free'
  const answer = await askFor(session, call, tool)
  if (call.over) return false
  if (answer !== 'accepted') {
    refuseUnapproved(call, ...answer)
    return false
  }
  call.approval = answer
  return true
}

/** Asks the client's user to approve a call. */
async function askFor(
  session: Session,
  call: SessionCall,
  tool: ToolToApprove,
): Promise<'accepted' | [outcome: Unapproved, why?: string]> {
  // Earlier revisions have no elicitation, whatever the client declares.
  if (!session.elicits || session.revision < '2025-06-18') return ['unavailable']
  if (!session.isReachable(call))
    return ['unavailable', 'the client accepts no text/event-stream, on which it could be asked']
  const answer = await session.ask(call, ELICIT, questionFor(call, tool))
  if (answer === 'busy')
    return ['unavailable', `${MAX_QUESTIONS} questions wait for the client already: answer those first`]
  if (answer === 'timeout') return [answer]
  if (answer && 'error' in answer)
    return ['unavailable', 'the client answered the question with an error: use one that can ask']
  const outcome = outcomeOfAnswer(answer?.result)
  return outcome === 'accepted' ? outcome : [outcome]
}
