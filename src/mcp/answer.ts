import { isObject, type JsonObject, parseVerbatim, stringify } from '../json/index.ts'
import type { CallEnd } from './context.ts'
import { type Fault, httpStatusOf, outcomeOf } from './fault.ts'
import {
  errorText,
  INTERNAL_ERROR,
  isSessionRevision,
  type Request,
  type Revision,
  type RpcError,
  resultText,
} from './protocol.ts'

/** The answer to one request, as every backend and middleware gives it. */
export interface Answer {
  /** The JSON-RPC response; undefined: the call was cancelled and gets none. */
  readonly text: string | undefined
  /** How the call ended, for log, metrics, audit and trace. */
  readonly end: CallEnd
  /** HTTP status, if nothing was sent before. Default: by revision and error code. */
  readonly status?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

const OK: CallEnd = { outcome: 'ok' }

type Asked = { readonly request: Pick<Request, 'id'> }
type AskedIn = Asked & { readonly revision: Revision }

/** A result, given as JSON text. */
export function resultAnswer({ request }: Asked, json: string, end: CallEnd = OK): Answer {
  return { text: resultText(request.id, json), end }
}

/** A result of the gateway itself, with the member that its revision requires. */
export function ownResult({ request, revision }: AskedIn, result: JsonObject, end?: CallEnd): Answer {
  const whole = isSessionRevision(revision) ? result : { resultType: 'complete', ...result }
  return resultAnswer({ request }, stringify(whole), end)
}

/** The gateway's own result of a tool. @param end of another outcome than `ok`: it is an error that the model reads */
export function toolResult(call: AskedIn, content: readonly (JsonObject | string)[], end: CallEnd): Answer {
  const parts = content.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part))
  return ownResult(call, { content: parts, ...(end.outcome !== 'ok' && { isError: true }) }, end)
}

/** The answer with another result; as it is if it has none, or `change` gives undefined. */
export function withResult(answer: Answer, change: (result: JsonObject) => JsonObject | undefined): Answer {
  const raw = parseVerbatim(answer.text ?? 'null')
  if (!isObject(raw) || !isObject(raw.result)) return answer
  const result = change(raw.result)
  return result ? { ...answer, text: stringify({ ...raw, result }) } : answer
}

/** An error. @param end default: refused, with the error's message as reason */
export function errorAnswer(
  { request }: Asked,
  error: RpcError,
  end: CallEnd = { outcome: 'refused', failure: error.message },
  { status, headers }: Pick<Answer, 'status' | 'headers'> = {},
): Answer {
  return { text: errorText(request.id, error), end: { ...end, code: error.code }, status, headers }
}

/** Why there is no result. */
export function faultAnswer({ request }: Asked, fault: Fault): Answer {
  const { message, challenge } = fault
  return {
    text: errorText(request.id, { code: INTERNAL_ERROR, message }),
    end: endOfFault(fault),
    status: httpStatusOf(fault),
    headers: challenge === undefined ? undefined : { 'www-authenticate': challenge },
  }
}

/** No answer (2025-11-25, Cancellation). */
export const CANCELLED: Answer = { text: undefined, end: { outcome: 'cancelled' } }

/** How a call that got a fault instead of an answer ended. */
function endOfFault(fault: Fault): CallEnd {
  const { message: failure, login } = fault
  return { outcome: outcomeOf(fault), failure, code: INTERNAL_ERROR, ...(login && { login }) }
}
