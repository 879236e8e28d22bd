import type { JsonObject } from '../../json/index.ts'
import { stringify } from '../../json/index.ts'
import { Fault, isObject, METHOD_NOT_FOUND, messageOf, ownId } from '../../mcp/index.ts'
import type { Upstream } from '../upstream.ts'
import { type HttpAnswer, readResponse } from './http.ts'

/** Statuses that say something else than that a session is unknown: of credentials, sizes and rates. */
const OTHERWISE = new Set([401, 403, 407, 408, 413, 429])
/** Codes of errors that say what a request asks for is not there. */
const ABSENT = new Set<unknown>([METHOD_NOT_FOUND, -32002])

/**
 * What a server says against a request, equal for refusals that may have one cause; undefined: it does not refuse it.
 * @param answer the response, or why there is none; absent: the request wants none
 */
export function refusalOf(status: number, answer: JsonObject | Fault | undefined): string | undefined {
  if (OTHERWISE.has(status)) return undefined
  const error = answer instanceof Fault ? undefined : answer?.error
  if (isObject(error)) return ABSENT.has(error.code) ? undefined : `${status}, error ${String(error.code)}`
  return status >= 400 ? String(status) : undefined
}

/**
 * Whether a server has forgotten a session, as it refuses a request in it. 404 says so (2025-11-25, Session Management);
 * many servers have other words, with which they refuse a ping in the session, too.
 * @param refusal of the request
 * @param send sends a message in the same session
 */
export async function isForgotten(
  refusal: string,
  status: number,
  upstream: Pick<Upstream, 'name' | 'limits' | 'definition'>,
  send: (body: string) => Promise<HttpAnswer | Fault>,
): Promise<boolean> {
  if (status === 404) return true
  const id = ownId()
  const answer = await send(stringify(messageOf('ping', {}, id)))
  if (answer instanceof Fault) return false
  const read = await readResponse(answer, id, upstream)
  return refusalOf(answer.status, read instanceof Fault ? read : read.message.raw) === refusal
}

/** Whether a request that a server has refused for its session was not executed, so that it may be sent again. */
export function isUnexecuted(status: number): boolean {
  return status < 500
}

/** Says why a session is given up. */
export function logForgotten({ name, log }: Pick<Upstream, 'name' | 'log'>, refusal: string): void {
  log.warn({ server: name, refusal }, 'an MCP server has forgotten a session; opening another one')
}
