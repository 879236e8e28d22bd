import type { Peer } from '../../access/request-lease.ts'
import type { JsonObject } from '../../json/index.ts'
import type { Shaping } from '../../json/shaping/index.ts'
import type { CancelSignal, Fault, ParamHeader, Request, RequestHeaders } from '../../mcp/index.ts'
import type { Resolved } from '../definition.ts'

/** Handles stateless requests for a server of any revision. */
export interface StatelessUpstream {
  /** Answers with the JSON-RPC response; undefined if the request was cancelled. */
  request(call: UpstreamCall): Promise<JsonObject | Fault | undefined>
  /** The arguments of a tool that clients mirror into headers. */
  paramHeaders(tool: string, call: UpstreamCall): Promise<readonly ParamHeader[]>
  /** Ends a call that waits for input that will not come; absent: calls never wait. */
  abandon?(requestState: string): void
}

/** The same server with requests answered in another way. */
export function withRequest(
  server: StatelessUpstream,
  request: StatelessUpstream['request'],
): StatelessUpstream {
  return {
    request,
    paramHeaders: (tool, call) => server.paramHeaders(tool, call),
    abandon: (requestState) => server.abandon?.(requestState),
  }
}

export interface UpstreamCall {
  readonly message: Request
  /** Headers of the client, names in lower case. */
  readonly headers: RequestHeaders
  /** The caller, if authenticated. */
  readonly caller: string | undefined
  /** Quota key of the call; undefined: the gateway itself. */
  readonly quotaKey?: string
  /** Identifies an anonymous client; undefined: the gateway itself. */
  readonly peer?: Peer
  readonly resolved: Resolved
  /** The client's session, which determines the revision of the answer; absent: it has none. */
  readonly session?: string
  /** Receives messages before the answer. */
  onMessage(raw: JsonObject): void
  /** Called with the shaping of the result, if known only to the aggregate. */
  onShaping?(shaping: Shaping): void
  /** Aborted when the client disconnects, which cancels the request. */
  readonly signal: CancelSignal
}

/** Equal for calls of the same client, as far as known. */
export function whoseCall({ session, caller, peer }: Partial<UpstreamCall>): string {
  return session ?? caller ?? peer?.key ?? ''
}
