import type { HttpResponse } from '../access/http-response.ts'
import { bump } from '../access/quota.ts'
import { isObject, type Json, type JsonObject, parseVerbatim, stringify } from '../json/index.ts'
import {
  CANNOT_ASK,
  ELICIT,
  ELICITATION,
  messageFor,
  outcomeOfAnswer,
  questionFor,
  refuseUnapproved,
  toolToApprove,
} from './approval.ts'
import type { Endpoint } from './backend.ts'
import { type Call, LoggedRequest } from './call.ts'
import { declares, missingCapability } from './client-capabilities.ts'
import type { RequestContext } from './context.ts'
import { json } from './http.ts'
import { statelessSource } from './list-source.ts'
import { digestOfRequest, PendingInput, UNKNOWN_STATE } from './pending-input.ts'
import {
  CLIENT_CAPABILITIES,
  errorText,
  metaOf,
  omit,
  type Request,
  STATELESS_REVISIONS,
} from './protocol.ts'
import { MAX_QUESTIONS } from './questions.ts'

/**
 * Approval of stateless calls (2026-07-28, Multi Round-Trip Requests): the client gets `input_required`, and repeats
 * the call with the answer and the `requestState`. That is an unguessable handle, valid once for the same caller and
 * call; with replicas it is sealed and names the one that asked.
 */

/** Distinguishes the gateway's `requestState` from those of servers. */
const PREFIX = 'approval.'
/** Key of the question in `inputRequests`. */
const KEY = 'approval'

/** A call that waits for its client. */
interface Parked {
  quotaKey: string
  /** Whether a person has approved it, and the server now asks for more input. */
  approved: boolean
  /** The server's `requestState`. */
  inner?: Json | undefined
  /** Called if no answer comes in time. */
  onUnanswered?: (() => void) | undefined
}

/** Calls that wait for approval, or for more input after it. */
export class Approvals {
  readonly #pending: PendingInput<Parked>
  readonly #counts = new Map<string, number>()

  /** @param life milliseconds in which a person may answer */
  constructor(life?: number) {
    this.#pending = new PendingInput(life)
  }

  /** Returns the handle; undefined: too many calls of the same quota key wait. */
  add(parked: Parked, bound: string): string | undefined {
    const { quotaKey, onUnanswered } = parked
    if ((this.#counts.get(quotaKey) ?? 0) >= MAX_QUESTIONS) return undefined
    bump(this.#counts, quotaKey, 1)
    return this.#pending.add(parked, bound, quotaKey, () => {
      this.#freed(quotaKey)
      onUnanswered?.()
    })
  }

  take(handle: string, bound: string): Parked | undefined {
    const parked = this.#pending.take(handle, bound)
    if (parked) this.#freed(parked.quotaKey)
    return parked
  }

  close(): void {
    this.#pending.close()
  }

  #freed(quotaKey: string): void {
    bump(this.#counts, quotaKey, -1)
  }
}

/** A request for the backend, and the client's answer. */
export interface Resumed {
  request: Request
  answer?: 'accepted' | 'declined' | 'cancelled'
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
    return json(context, errorText(request.id, UNKNOWN_STATE))
  }
  let handle = requestState.slice(PREFIX.length)
  const { replicas } = context
  if (replicas) {
    const waiting = replicas.unseal(handle)
    if (!waiting) return unknown()
    const { owner, state } = waiting
    if (!replicas.isOwn(owner)) return (await replicas.forward(owner, text, request.id)) ?? unknown()
    handle = state
  }
  const parked = endpoint.registry.approvals.take(handle, boundTo(request, endpoint))
  if (!parked) return unknown()
  const { approved, inner } = parked
  if (approved) return { request: withState(request, inner, inputResponses), answer: 'accepted' }
  const answers = isObject(inputResponses) ? inputResponses : {}
  const own = withState(request)
  // A missing answer is asked for again (Error Handling).
  return Object.hasOwn(answers, KEY)
    ? { request: own, answer: outcomeOfAnswer(answers[KEY]) }
    : { request: own }
}

/** Whether a stateless call is approved or needs no approval; otherwise answers it. */
export async function isStatelessApproved(
  call: Call,
  endpoint: Endpoint,
  answer: Resumed['answer'],
): Promise<boolean> {
  if (answer === 'accepted') {
    call.approval = answer
    return true
  }
  if (answer) {
    refuseUnapproved(call, answer)
    return false
  }
  const { request } = call
  const tool = await toolToApprove(call, statelessSource(call, endpoint))
  if (!tool || tool === 'free') return tool === 'free'
  const capabilities = metaOf(request.params)[CLIENT_CAPABILITIES]
  if (!isObject(capabilities) || !declares(capabilities, ELICITATION)) {
    const error = missingCapability(ELICITATION, messageFor(call, CANNOT_ASK))
    call.approval = 'unavailable'
    call.error(error, { outcome: 'refused', failure: error.message, denied: 'approval' })
    return false
  }
  const requestState = park(call, endpoint, { approved: false, onUnanswered: unanswered(call) })
  if (requestState === undefined) {
    refuseUnapproved(
      call,
      'unavailable',
      `${MAX_QUESTIONS} questions wait for an answer already: answer those first`,
    )
    return false
  }
  const inputRequests = { [KEY]: { method: ELICIT, params: questionFor(call, tool) } }
  call.approval = 'asked'
  call.result(stringify({ resultType: 'input_required', inputRequests, requestState }))
  return false
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

/** The response to an approved call; if the server asks for more input, the approval is kept for the retry. */
export function keepsApproval(call: Call, endpoint: Endpoint, text: string): string {
  if (!text.includes('"input_required"')) return text
  const raw = parseVerbatim(text)
  if (!isObject(raw) || !isObject(raw.result) || raw.result.resultType !== 'input_required') return text
  const requestState = park(call, endpoint, { approved: true, inner: raw.result.requestState })
  // If it cannot be stored, the person is asked again.
  return requestState === undefined ? text : stringify({ ...raw, result: { ...raw.result, requestState } })
}

/** Stores a call; returns its `requestState`. */
function park(
  { context, request }: Call,
  endpoint: Endpoint,
  parked: Omit<Parked, 'quotaKey'>,
): string | undefined {
  const { lease, replicas } = context
  const { quotaKey } = lease
  const handle = endpoint.registry.approvals.add({ quotaKey, ...parked }, boundTo(request, endpoint))
  return handle === undefined ? undefined : PREFIX + (replicas?.seal(handle) ?? handle)
}

/** Digest of prefix, caller and call. */
function boundTo(request: Request, { prefix, caller }: Endpoint): string {
  return digestOfRequest(request, [prefix, caller ?? null])
}

function withState(request: Request, requestState?: Json, inputResponses?: Json): Request {
  const params: JsonObject = {
    ...omit(request.params, 'requestState', 'inputResponses'),
    ...(requestState !== undefined && { requestState }),
    ...(inputResponses !== undefined && { inputResponses }),
  }
  return { ...request, params, raw: { ...request.raw, params } }
}
