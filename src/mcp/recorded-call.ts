import type { Outcome } from '../telemetry/outcome.ts'

/** One request that the gateway sent for a call, and its answer; secrets are masked. */
export interface Exchange {
  /** URL, or name of the MCP server. */
  to: string
  /** An HTTP request in HTTP/1.1 syntax, or a JSON-RPC message. */
  sent: string
  /** Body of the response, or the JSON-RPC message; undefined: there was none. */
  received: string | undefined
  /** HTTP status. */
  status?: number
  /** Milliseconds from sending to the whole answer. */
  ms: number
}

/** A finished call. Contents are present only if they are recorded. */
export interface RecordedCall {
  /** A number that increases with each call; of a worker, after its process id and a point. */
  id: string
  /** Time of its end: ISO 8601, UTC. */
  at: string
  tenant: string
  prefix: string
  method: string
  /** Name of the tool or prompt, or URI of the resource. */
  name: string
  /** Name of the caller, or address; undefined: unknown. */
  caller: string | undefined
  revision: string
  outcome: Outcome
  failure: string | undefined
  /** Milliseconds. */
  ms: number
  /** Tokens that shaping saved, estimated. */
  savedTokens: number
  traceId: string | undefined
  /** Where its last request was sent; only if contents are recorded, as URLs hold arguments. */
  sentTo: string | undefined
  contents?: CallContents
}

export interface CallContents {
  /** JSON text of the call's parameters. */
  params: string
  exchanges: Exchange[]
  /** The JSON-RPC response; undefined: the call was cancelled. */
  answer: string | undefined
}
