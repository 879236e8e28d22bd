import { bump } from '../access/quota.ts'
import { isObject, type Json, type JsonObject, parseVerbatim, stringify } from '../json/index.ts'
import {
  CANNOT_ASK,
  ELICIT,
  ELICITATION,
  messageFor,
  OwnReply,
  outcomeOfAnswer,
  questionFor,
  refuseUnapproved,
  silent,
  toolToApprove,
} from './approval.ts'
import type { Endpoint } from './backend.ts'
import { Accounted, Call } from './call.ts'
import { declares, missingCapability } from './client-capabilities.ts'
import { Fault } from './fault.ts'
import { type Exchange, json } from './http.ts'
import { digestOfRequest, PendingInput, UNKNOWN_STATE } from './pending-input.ts'
import {
  CLIENT_CAPABILITIES,
  errorText,
  LOG_LEVEL,
  metaOf,
  omit,
  type Request,
  STATELESS_REVISIONS,
} from './protocol.ts'
import { MAX_QUESTIONS } from './questions.ts'
import { hand } from './session.ts'

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
    const { sharer } = parked
    if ((this.#counts.get(sharer) ?? 0) >= MAX_QUESTIONS) return undefined
    bump(this.#counts, sharer, 1)
    return this.#pending.add(parked, bound, () => this.#freed(sharer))
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
): Promise<Resumed | Response> {
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
  const { exchange, request } = call
  const viewer = endpoint.caller ?? exchange.peer.key
  const list = (params: JsonObject) => inquire(call, endpoint, 'tools/list', params)
  const tool = await toolToApprove(call, endpoint.backend, viewer, list)
  if (!tool || tool === 'free') return tool === 'free'
  const capabilities = metaOf(request.params)[CLIENT_CAPABILITIES]
  if (!isObject(capabilities) || !declares(capabilities, ELICITATION)) {
    const error = missingCapability(ELICITATION, messageFor(call, CANNOT_ASK))
    call.approval = 'unavailable'
    call.error(error, { outcome: 'refused', failure: error.message, denied: 'approval' })
    return false
  }
  const requestState = park(call, endpoint, { approved: false })
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

/** The response to a request of the gateway's own, as the client of a call would see it. */
async function inquire(
  { exchange, request: { params } }: Call,
  endpoint: Endpoint,
  method: string,
  own: JsonObject,
): Promise<JsonObject | Fault> {
  const id = 'plantgw-approval'
  const given = { ...own, _meta: omit(metaOf(params), 'progressToken', LOG_LEVEL) }
  const raw = { jsonrpc: '2.0', id, method, params: given }
  const request: Request = { kind: 'request', id, method, params: given, raw }
  const text = stringify(raw)
  const server = await endpoint.backend.alone(exchange, request, text, endpoint)
  if (server instanceof Fault) return server
  if (server instanceof Response) return new Fault('internal', 'The list of tools cannot be judged')
  const reply = new OwnReply()
  hand(new Call(exchange, request, text, STATELESS_REVISIONS[0], reply, silent(endpoint.account)), server)
  return reply.response
}
