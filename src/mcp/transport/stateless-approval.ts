import { HttpResponse } from '../../access/http-response.ts'
import { isObject, type Json, type JsonObject, stringify } from '../../json/index.ts'
import { type Answer, errorAnswer, resultAnswer, withResult } from '../answer.ts'
import type { Call, ElicitationOutcome } from '../call.ts'
import { type ApprovalOutcome, LoggedRequest } from '../call-log.ts'
import { declares, missingCapability } from '../client-capabilities.ts'
import type { RequestContext } from '../context.ts'
import type { Endpoint } from '../endpoint.ts'
import { json } from '../http.ts'
import { CANNOT_ASK, ELICIT, ELICITATION, messageFor, outcomeOfAnswer } from '../middleware/approval.ts'
import {
  CLIENT_CAPABILITIES,
  errorText,
  metaOf,
  omit,
  type Request,
  STATELESS_REVISIONS,
  withParams,
} from '../protocol.ts'
import { digestOfRequest, type ParkedCall, UNKNOWN_STATE } from '../session/pending-input.ts'
import { MAX_QUESTIONS } from '../session/questions.ts'
import { stateOf } from '../session/replicas.ts'

/**
 * Approval of stateless calls (2026-07-28, Multi Round-Trip Requests): the client gets `input_required`, and repeats
 * the call with the answer and the `requestState`. That is an unguessable handle, valid once for the same caller and
 * call; with replicas it is sealed and names the one that asked.
 */

/** Distinguishes the gateway's `requestState` from those of servers. */
const PREFIX = 'approval.'
/** Key of the question in `inputRequests`. */
const KEY = 'approval'

type Approvals = Endpoint['registry']['approvals']

/** A request for the backend, and the client's answer. */
export interface Resumed {
  request: Request
  approval?: ApprovalOutcome
}

/** Resumes a call whose client was asked; with replicas, on the one that asked. */
export async function resumeApproval(
  context: RequestContext,
  request: Request,
  text: string,
  endpoint: Endpoint,
): Promise<Resumed | HttpResponse> {
  const { requestState, inputResponses } = request.params
  if (typeof requestState !== 'string' || !requestState.startsWith(PREFIX)) return { request }
  const unknown = () => {
    const end = { outcome: 'refused', failure: UNKNOWN_STATE.message, denied: 'approval' } as const
    new LoggedRequest(request, context, STATELESS_REVISIONS[0], endpoint.callLog).record(end)
    return json(errorText(request.id, UNKNOWN_STATE))
  }
  const named = requestState.slice(PREFIX.length)
  const { replicas } = context
  const handle = replicas ? await stateOf(replicas, named, text, request.id) : named
  if (handle instanceof HttpResponse) return handle
  const parked =
    handle !== undefined && endpoint.registry.approvals.take(handle, boundTo(request, context, endpoint))
  if (!parked) return unknown()
  const { approved, inner } = parked
  if (approved) return { request: withState(request, inner, inputResponses), approval: 'accepted' }
  const answers = isObject(inputResponses) ? inputResponses : {}
  const own = withState(request)
  // A missing answer is asked for again (Error Handling).
  return Object.hasOwn(answers, KEY)
    ? { request: own, approval: outcomeOfAnswer(answers[KEY]) }
    : { request: own }
}

/** Answers a call with the question, unless the client cannot ask a person. */
export function askStateless(
  call: Call,
  params: JsonObject,
  approvals: Approvals,
): ElicitationOutcome | Answer {
  const capabilities = metaOf(call.request.params)[CLIENT_CAPABILITIES]
  if (!isObject(capabilities) || !declares(capabilities, ELICITATION)) {
    const error = missingCapability(ELICITATION, messageFor(call, CANNOT_ASK))
    call.approval = 'unavailable'
    return errorAnswer(call, error, { outcome: 'refused', failure: error.message, denied: 'approval' })
  }
  const requestState = park(call, approvals, { approved: false }, unanswered(call))
  if (requestState === undefined)
    return {
      outcome: 'unavailable',
      why: `${MAX_QUESTIONS} questions wait for an answer already: answer those first`,
    }
  const inputRequests = { [KEY]: { method: ELICIT, params } }
  call.approval = 'asked'
  return resultAnswer(call, stringify({ resultType: 'input_required', inputRequests, requestState }))
}

/** Returns a callback for a timeout that keeps no reference to the request. */
function unanswered(call: Call): () => void {
  const { callLog } = call
  const audited = callLog.auditSink?.asked(call)
  return () => {
    audited?.()
    callLog.onUnanswered?.(callLog)
  }
}

/** The answer to an approved call; if the server asks for more input, the approval is kept for the retry. */
export function keepsApproval(call: Call, answer: Answer, approvals: Approvals): Answer {
  if (!answer.text?.includes('"input_required"')) return answer
  return withResult(answer, (result) => {
    if (result.resultType !== 'input_required') return undefined
    const requestState = park(call, approvals, { approved: true, inner: result.requestState })
    // If it cannot be stored, the person is asked again.
    return requestState === undefined ? undefined : { ...result, requestState }
  })
}

/** Stores a call; returns its `requestState`, or undefined if too many calls of the same quota key wait. */
function park(
  { context, request, callLog }: Call,
  approvals: Approvals,
  parked: ParkedCall,
  onUnanswered = () => {},
): string | undefined {
  const { quotaKey } = context.lease
  if (approvals.count(quotaKey) >= MAX_QUESTIONS) return undefined
  const handle = approvals.add(parked, boundTo(request, context, callLog), quotaKey, onUnanswered)
  return PREFIX + (context.replicas?.seal(handle) ?? handle)
}

/** Digest of prefix, caller and call. */
function boundTo(request: Request, { caller }: RequestContext, { prefix }: Pick<Endpoint, 'prefix'>): string {
  return digestOfRequest(request, [prefix, caller ?? null])
}

function withState(request: Request, requestState?: Json, inputResponses?: Json): Request {
  const params: JsonObject = {
    ...omit(request.params, 'requestState', 'inputResponses'),
    ...(requestState !== undefined && { requestState }),
    ...(inputResponses !== undefined && { inputResponses }),
  }
  return withParams(request, params)
}
