import type { Socket } from 'node:net'
import type { Discovery } from '../discovery/index.ts'
import type { CorsPolicy } from './cors.ts'
import type { HttpResponse } from './http-response.ts'
import type { Identity } from './identity.ts'
import type { OuterConnection } from './outer-connection.ts'
import type { Authorize } from './permissions.ts'
import type { Meter, RateLimits } from './rate.ts'
import type { Stay } from './stay.ts'

export type { Claims, Identity } from './identity.ts'

/** One of the steps that a request to a route passes before it is answered: Hono middleware over HTTP. */
export interface Step<Request = StepRequest> {
  readonly name: string
  /**
   * Returns nothing to go on, and may set `caller`, `stay` and reply headers before; or the response. State that outlives a reload belongs to the step, as routes are made again.
   */
  run(request: Request): StepResult | Promise<StepResult>
}

export type StepResult = Refusal | HttpResponse | undefined

/** Why a request is not served; the route writes it in the form of its errors. */
export interface Refusal {
  /** Of HTTP. */
  status: number
  message: string
  headers?: Readonly<Record<string, string>>
}

/** The parts of a request of which it is known before a route is found. */
export interface Arrival {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** `Host`, or what stands for it. */
  readonly host: string | undefined
  /** Names and values in turn, as they were sent; absent where no socket is read. */
  readonly rawHeaders: readonly string[] | undefined
}

/** A request as steps see it: plain values, and functions for what few of them need. */
export interface StepRequest extends Arrival {
  readonly method: string
  readonly path: string
  /** Path and query. */
  target(): string
  /** IP address of the client: of the other end of the connection, or what a trusted proxy says. */
  readonly address: string | undefined
  /** The connection; absent where there is none. */
  readonly socket: Socket | undefined
  readonly route: RoutePolicy
  /** Methods that the endpoint has, for `Allow`. */
  readonly allow: string
  /** Whether everyone may read what is asked for. */
  readonly open: boolean
  /** Of the route, or of what everyone may read. */
  readonly cors: CorsPolicy | undefined
  /** Headers of every response to the request. */
  readonly replyHeaders: Record<string, string>
  /** Set by `authentication`: who owns what the request makes. */
  caller: string | undefined
  /** Set by `authentication`: the name of the caller in the log, where it is another one. */
  callerName: string | undefined
  /** Set by `authentication`: all that is known of the caller. */
  identity: Identity | undefined
  /** Set by `replica`: another replica has passed the request on. */
  forwarded: boolean
  /** The id of the session that the request names, where it is one of the caller's at the route. */
  sessionId(): string | undefined
  /** Set by `replica`: the connection of the client, where it was another worker of this gateway that passed it on. */
  outer: OuterConnection | undefined
  /** A parameter of the query. */
  parameter(name: string): string | undefined
  /** Set by `listing`: how the client wants tools to be listed; undefined: as the route says. */
  listing: 'list' | 'search' | undefined
  /** Set by `limits`. */
  stay: Stay
  /** Set by `rate`, where the route has rates: counts the requests that it holds. */
  meter: Meter | undefined
  /** Runs `listener` when the response is out or the client is gone; the result takes that back. */
  onEnd(listener: () => void): () => void
}

/** What a route demands of requests. */
export interface RoutePolicy {
  /** Empty for `/`. */
  readonly prefix: string
  readonly cors?: CorsPolicy
  /** Absent: everyone may call. */
  readonly authenticate?: Authenticate
  /** Absent: every caller may use everything. */
  readonly authorize?: Authorize
  /** How its tools are shown; absent: all of them. */
  readonly discovery?: Discovery
  /** Absent: nobody has to approve a call. */
  readonly approval?: Approval
  /** Absent: any number of requests may come in a time. */
  readonly rate?: RateLimits
  /** Whether what is cut off results is kept for their callers. */
  readonly keepsResults?: boolean
  /** Bytes of a request's body at most. */
  readonly maxRequestSize: number
}

/** That a person has to approve calls of tools that may destroy something. */
export interface Approval {
  /** What serves the route, for the person. */
  readonly server: string
}

/** Who sent a request, by its credentials. */
export type Authenticate = (
  request: Pick<StepRequest, 'headers' | 'path' | 'parameter'>,
) => Identity | Denial | Promise<Identity | Denial>

/** Why credentials are refused. */
export interface Denial extends Refusal {
  /** Default: `missing` without credentials, else `unknown`. */
  reason?: DenialReason
  /** What the log says besides; the client does not get it. */
  note?: string
}

/**
 * `missing`: there were none. `scope`: they are good, but not for this. `unavailable`: they could not be judged.
 * `limited`: too many wrong ones came from the address.
 */
export type DenialReason = 'missing' | 'unknown' | 'expired' | 'scope' | 'unavailable' | 'limited'

/** Runs the steps in order until one has a response. */
export async function runSteps<Request>(
  steps: readonly Step<Request>[],
  request: Request,
): Promise<StepResult> {
  for (const step of steps) {
    const result = await step.run(request)
    if (result) return result
  }
  return undefined
}
