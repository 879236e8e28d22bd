import { type JsonObject, stringify } from '../../json/index.ts'
import { Fault, isObject, METHOD_NOT_FOUND, messageOf, ownId } from '../../mcp/index.ts'
import type { Logger } from '../../telemetry/log.ts'
import { type AnsweringServer, type HttpAnswer, readResponse } from './http.ts'

/** Statuses that do not mean an unknown session: credentials, sizes and rates. */
const OTHERWISE = new Set([401, 403, 407, 408, 413, 429])
/** Error codes for a missing method or resource. */
const ABSENT = new Set<unknown>([METHOD_NOT_FOUND, -32002])

/**
 * A key of a server's refusal, equal for refusals with a possible common cause; undefined: no refusal.
 * @param answer the response or fault; absent: the request expects none
 */
export function refusalOf(status: number, answer: JsonObject | Fault | undefined): string | undefined {
  if (OTHERWISE.has(status)) return undefined
  const error = answer instanceof Fault ? undefined : answer?.error
  if (isObject(error)) return ABSENT.has(error.code) ? undefined : `${status}, error ${String(error.code)}`
  return status >= 400 ? String(status) : undefined
}

/**
 * Whether a refusal means that the server forgot the session. 404 says so (2025-11-25, Session Management); many
 * servers use other errors, with which they also refuse a ping in the session.
 * @param refusal of the request
 * @param send sends a message in the same session
 */
export async function isForgotten(
  refusal: string,
  status: number,
  upstream: AnsweringServer,
  send: (body: string) => Promise<HttpAnswer | Fault>,
): Promise<boolean> {
  if (status === 404) return true
  const id = ownId()
  const answer = await send(stringify(messageOf('ping', {}, id)))
  if (answer instanceof Fault) return false
  const read = await readResponse(answer, id, upstream)
  return refusalOf(answer.status, read instanceof Fault ? read : read.message.raw) === refusal
}

/** Whether a request refused because of its session was not executed, so that it may be repeated. */
export function isUnexecuted(status: number): boolean {
  return status < 500
}

/** Logs why a session is given up. */
export function logForgotten({ name, log }: { name: string; log: Logger }, refusal: string): void {
  log.warn({ server: name, refusal }, 'an MCP server has forgotten a session; opening another one')
}
