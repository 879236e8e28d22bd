/**
 * How a call ended, for tools and proxied servers alike; the label `outcome` of metrics and logs.
 *
 * - `ok`: the call has a result.
 * - `tool_error`: the call has a result that says that the tool failed (`isError`), or the upstream answered with an error.
 * - `timeout`: no answer came in time.
 * - `cancelled`: the client cancelled the call or went away.
 * - `refused`: the call was not sent: invalid arguments, an unknown or hidden tool, a limit.
 * - `failed`: the upstream could not be reached, broke off, or sent what cannot be read; or the gateway failed.
 */
export type Outcome = 'ok' | 'tool_error' | 'timeout' | 'cancelled' | 'refused' | 'failed'

/** How a request ended. */
export interface Ended {
  outcome: Outcome
  /** Code of the JSON-RPC error answer, if any. */
  code?: number | undefined
  /** There was no answer, not even an error. */
  unanswered?: true
}

/** Codes of JSON-RPC and MCP; servers may send any other. */
const CODES = { least: -32_768, most: -32_000 }

/** `rpc.response.status_code` of the semantic conventions of MCP. */
export function statusCodeOf({ code }: Ended): string | undefined {
  if (code === undefined) return undefined
  return code >= CODES.least && code <= CODES.most ? String(code) : '_OTHER'
}

/** `error.type` of the semantic conventions of MCP; undefined: the request did not fail. */
export function errorTypeOf(end: Ended): string | undefined {
  const { outcome, unanswered } = end
  if (outcome === 'ok') return undefined
  return statusCodeOf(end) ?? (unanswered || outcome === 'cancelled' ? outcome : 'tool_error')
}
