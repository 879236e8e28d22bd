import type { Socket } from 'node:net'
import type { Discovery } from '../discovery/index.ts'
import type { ForwardedConnection } from './forwarded-connection.ts'
import type { HttpResponse } from './http-response.ts'
import type { Identity } from './identity.ts'
import type { Authorize } from './permissions.ts'
import type { Meter, RateLimits } from './rate.ts'
import type { RequestLease } from './request-lease.ts'

/** A step that a request to a route passes before it is answered, like Hono middleware. */
export interface Step<Request = StepRequest, Result = Refusal | HttpResponse> {
  readonly name: string
  /**
   * Returns undefined to continue, possibly after setting `identity`, `lease` and reply headers; or returns the response.
   * Steps own state that survives reloads, as routes are replaced.
   */
  run(request: Request): Promise<Result | undefined>
}

/** Why a request is refused; the route formats it as an error. */
export interface Refusal {
  /** HTTP status. */
  status: number
  message: string
  headers?: Readonly<Record<string, string>>
}

/** The parts of a request known before its route is found. */
export interface RequestHead {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** `Host`, or its equivalent. */
  readonly host: string | undefined
  /** Alternating names and values as sent; absent without a socket. */
  readonly rawHeaders: readonly string[] | undefined
}

/** A request as seen by steps: plain values, and functions for rarely needed ones. */
export interface StepRequest extends RequestHead {
  readonly method: string
  readonly path: string
  /** Path and query. */
  target(): string
  /** IP address of the client: of the connection, or as reported by a trusted proxy. */
  readonly address: string | undefined
  /** The connection; absent without one. */
  readonly socket: Socket | undefined
  readonly route: RoutePolicy
  /** Methods of the endpoint, for `Allow`. */
  readonly allow: string
  /** Whether the document is public. */
  readonly open: boolean
  /** CORS of the route, or of public documents. */
  readonly cors: CorsPolicy | undefined
  /** Headers of every response to the request. */
  readonly replyHeaders: Record<string, string>
  /** Set by `authentication` or `client certificate`: the verified identity. */
  identity: Identity | undefined
  /** Its key: owner of what the request creates. */
  readonly caller: string | undefined
  /** Its name in the log, if different. */
  readonly callerName: string | undefined
  /** Set by `replica`: whether another replica forwarded the request. */
  forwarded: boolean
  /** The id of the named session, if it is one of the caller's at this route. */
  sessionId(): string | undefined
  /** Set by `replica`: the client's connection, if another worker of this gateway forwarded the request. */
  clientConnection: ForwardedConnection | undefined
  /** A parameter of the query. */
  parameter(name: string): string | undefined
  /** Set by `listing`: requested listing mode; undefined: the route's. */
  listing: 'list' | 'search' | undefined
  /** Set by `limits`. */
  lease: RequestLease
  /** Set by `rate` on routes with rates: counts the contained requests. */
  meter: Meter | undefined
  /** Calls `listener` when the response is sent or the client disconnects; the result unregisters it. */
  onEnd(listener: () => void): () => void
}

/** CORS of one router (the Fetch standard, 3.2 CORS protocol), resolved once. */
export interface CorsPolicy {
  allows(origin: string): boolean
  /** Headers of every answer, even without an origin, so that caches distinguish origins. */
  vary: Readonly<Record<string, string>>
  headers(origin: string): Readonly<Record<string, string>>
  /** Headers of the answer to a preflight from this origin. */
  preflight(origin: string): Readonly<Record<string, string>>
}

/** Requirements and settings of a route. */
export interface RoutePolicy {
  /** Empty for `/`. */
  readonly prefix: string
  readonly cors?: CorsPolicy
  /** Absent: no authentication. */
  readonly authenticate?: Authenticate
  /** Absent: every caller may use everything. */
  readonly authorize?: Authorize
  /** Tool discovery; absent: all tools are listed. */
  readonly discovery?: Discovery
  /** Absent: no approval required. */
  readonly approval?: Approval
  /** Absent: no rate limit. */
  readonly rate?: RateLimits
  /** Whether cut-off results are kept for their callers. */
  readonly keepsResults?: boolean
  /** Maximum bytes of a request's body. */
  readonly maxRequestSize: number
}

/** Requires a person's approval for calls of tools that may be destructive. */
export interface Approval {
  /** Name of the server in the question. */
  readonly server: string
}

/** Authenticates a request by its credentials. */
export type Authenticate = (
  request: Pick<StepRequest, 'headers' | 'path' | 'parameter'>,
) => Promise<Identity | Denial>

/** Why credentials are refused. */
export interface Denial extends Refusal {
  /** Default: `missing` without credentials, else `unknown`. */
  reason?: DenialReason
  /** Note for the log only. */
  note?: string
}

/**
 * `missing`: none were sent. `scope`: valid, but insufficient. `unavailable`: they could not be checked. `limited`: too
 * many wrong ones from the address.
 */
export type DenialReason = 'missing' | 'unknown' | 'expired' | 'scope' | 'unavailable' | 'limited'

/** Runs the steps in order until one has a response. */
export async function runSteps<Request>(
  steps: readonly Step<Request>[],
  request: Request,
): Promise<Refusal | HttpResponse | undefined> {
  for (const step of steps) {
    const refused = await step.run(request)
    if (refused) return refused
  }
  return undefined
}
