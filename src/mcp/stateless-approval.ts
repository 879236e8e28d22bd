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
import { Accounted, type Call } from './call.ts'
import { declares, missingCapability } from './client-capabilities.ts'
import { type Exchange, json } from './http.ts'
import { aloneSource } from './list-source.ts'
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
 * Approval of calls that stand alone (2026-07-28, Multi Round-Trip Requests): the client gets `input_required`, and calls
 * again with the answer and the `requestState`. That is a handle of what this gateway remembers: nobody can guess it, it is
 * good once, for the same caller and the same call, and where there are replicas it is sealed and names the one that asked.
 */

/** Tells the gateway's own from the `requestState` of servers. */
const PREFIX = 'approval.'
/** Of the question among `inputRequests`. */
const KEY = 'approval'

/** A call that waits for its client. */
interface Parked {
  sharer: string
  /** Whether a person has approved it, and it is the server that asks for more. */
  approved: boolean
  /** The `requestState` of the server. */
  inner?: Json | undefined
  /** Hears that nobody has answered. */
  onUnanswered?: (() => void) | undefined
}

/** The calls that wait for approval, or for more after it. */
export class Approvals {
  readonly #pending: PendingInput<Parked>
  readonly #counts = new Map<string, number>()

  /** @param life milliseconds that a person has */
  constructor(life?: number) {
    this.#pending = new PendingInput(life)
  }

  /** Gives the handle; undefined: too many of the same sharer wait. */
  add(parked: Parked, bound: string): string | undefined {
    const { sharer, onUnanswered } = parked
    if ((this.#counts.get(sharer) ?? 0) >= MAX_QUESTIONS) return undefined
    bump(this.#counts, sharer, 1)
    return this.#pending.add(parked, bound, sharer, () => {
      this.#freed(sharer)
      onUnanswered?.()
    })
  }

  take(handle: string, bound: string): Parked | undefined {
    const parked = this.#pending.take(handle, bound)
    if (parked) this.#freed(parked.sharer)
    return parked
  }

  close(): void {
    this.#pending.close()
  }

  #freed(sharer: string): void {
    bump(this.#counts, sharer, -1)
  }
}

/** A request as the backend is to have it, and what its client has answered. */
export interface Resumed {
  request: Request
  answer?: 'accepted' | 'declined' | 'cancelled'
}

/** Takes up a call whose client was asked; or the answer of the replica that asked, or that nobody has. */
export async function resumeApproval(
  exchange: Exchange,
  request: Request,
  text: string,
  endpoint: Endpoint,
): Promise<Resumed | HttpResponse> {
  const { requestState, inputResponses } = request.params
  if (typeof requestState !== 'string' || !requestState.startsWith(PREFIX)) return { request }
  const unknown = () => {
    const end = { outcome: 'refused', failure: UNKNOWN_STATE.message, denied: 'approval' } as const
    new Accounted(request, exchange, STATELESS_REVISIONS[0], endpoint.account).record(end)
    return json(exchange, errorText(request.id, UNKNOWN_STATE))
  }
  let handle = requestState.slice(PREFIX.length)
  const { replicas } = exchange
  if (replicas) {
    const waiting = replicas.unseal(handle)
    if (!waiting) return unknown()
    const { owner, state } = waiting
    if (!replicas.isOwn(owner)) return (await replicas.forward(owner, text, request.id)) ?? unknown()
    handle = state
  }
  const parked = endpoint.hub.approvals.take(handle, boundTo(request, endpoint))
  if (!parked) return unknown()
  const { approved, inner } = parked
  if (approved) return { request: withState(request, inner, inputResponses), answer: 'accepted' }
  const answers = isObject(inputResponses) ? inputResponses : {}
  const own = withState(request)
  // What is missing is asked for again (Error Handling).
  return Object.hasOwn(answers, KEY)
    ? { request: own, answer: outcomeOfAnswer(answers[KEY]) }
    : { request: own }
}

/** Answers a call that stands alone and that nobody has approved yet; whether it may go on. */
export async function isApprovedAlone(
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
  const tool = await toolToApprove(call, aloneSource(call, endpoint))
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

/** Tells that nobody has answered; it keeps nothing of the request. */
function unanswered(call: Call): () => void {
  const { account } = call
  const audited = account.witness?.asked(call)
  return () => {
    audited?.()
    account.onUnanswered?.(account)
  }
}

/** The response to a call that was approved: where the server asks for more, the approval holds for the next round. */
export function keepsApproval(call: Call, endpoint: Endpoint, text: string): string {
  if (!text.includes('"input_required"')) return text
  const raw = parseVerbatim(text)
  if (!isObject(raw) || !isObject(raw.result) || raw.result.resultType !== 'input_required') return text
  const requestState = park(call, endpoint, { approved: true, inner: raw.result.requestState })
  // Without room for it the person is asked again.
  return requestState === undefined ? text : stringify({ ...raw, result: { ...raw.result, requestState } })
}

/** Puts a call aside; its `requestState`. */
function park(
  { exchange, request }: Call,
  endpoint: Endpoint,
  parked: Omit<Parked, 'sharer'>,
): string | undefined {
  const { stay, replicas } = exchange
  const { sharer } = stay
  const handle = endpoint.hub.approvals.add({ sharer, ...parked }, boundTo(request, endpoint))
  return handle === undefined ? undefined : PREFIX + (replicas?.seal(handle) ?? handle)
}

/** Prefix, caller and call: what must be the same. */
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
