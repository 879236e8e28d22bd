import type { Identity } from '../access/identity.ts'
import type { CancelSignal } from '../net/index.ts'
import type { Outcome } from '../telemetry/outcome.ts'

/**
 * Why a request has no response.
 * - `timeout`: no answer in time.
 * - `cancelled`: the client cancelled the request or disconnected.
 * - `busy`: a limit is reached; the same request may succeed later.
 * - `refused`: the request was not sent, because it is not allowed or cannot be built.
 * - `credentials`: the upstream refused the credentials.
 * - `unreachable`: the upstream could not be started or connected to.
 * - `lost`: the connection, process or session ended before the answer.
 * - `status`: the upstream answered with only an HTTP error status.
 * - `invalid`: the upstream sent an invalid message.
 * - `internal`: a bug of the gateway.
 */
export type FaultKind =
  | 'timeout'
  | 'cancelled'
  | 'busy'
  | 'refused'
  | 'credentials'
  | 'unreachable'
  | 'lost'
  | 'status'
  | 'invalid'
  | 'internal'

export interface FaultDetails {
  /** HTTP status of the upstream; the client gets the same status if the kind is `credentials`. */
  status?: number
  /** `WWW-Authenticate` of an upstream that refused the client's own credentials. */
  challenge?: string
  /** Whether the upstream refused the request without executing it, so that it is safe to send again. */
  isUnexecuted?: boolean
  /** The login of the caller without which the upstream cannot be called. */
  login?: LoginNeed
}

/** A login of the caller that a server needs. */
export interface LoginNeed {
  /** Makes the page. */
  ask(): Promise<LoginQuestion | Fault>
}

/** Logins of callers at one MCP server, whose tools are unknown without them. */
export interface CallerLogins {
  server: string
  /** The login that a caller lacks; undefined: it has logged in, or is unknown. */
  missing(identity: Identity | undefined): Promise<LoginNeed | undefined>
  /** A sentence with the address of a page where a caller sees and ends its logins; undefined: it is unknown. */
  show(identity: Identity | undefined): Promise<string | undefined>
}

/** A page where one caller can log in at one server. */
export interface LoginQuestion {
  id: string
  server: string
  url: string
  /** A sentence for the person. */
  message: string
  /** A sentence for a model whose client cannot ask a person. */
  advice: string
  /** Resolves once the caller has logged in, or when the page cannot be used any more; returns whether it has. */
  readonly completed: Promise<boolean>
  /** The same, at most for `patience` milliseconds. */
  done(signal: CancelSignal, patience?: number): Promise<boolean>
}

/** Why a request has no response. A class, so that server data cannot be mistaken for one. */
export class Fault {
  readonly status: number | undefined
  readonly challenge: string | undefined
  readonly isUnexecuted: boolean
  readonly login: LoginNeed | undefined

  /** @param message a sentence for the caller */
  constructor(
    readonly kind: FaultKind,
    readonly message: string,
    { status, challenge, isUnexecuted = false, login }: FaultDetails = {},
  ) {
    this.isUnexecuted = isUnexecuted
    this.status = status
    this.challenge = challenge
    this.login = login
  }
}

/** Stands for the reply to a request that the client cancelled; the client gets none. */
export const CANCELLATION = new Fault('cancelled', 'The call was cancelled')

const OUTCOMES: Record<FaultKind, Outcome> = {
  timeout: 'timeout',
  cancelled: 'cancelled',
  busy: 'refused',
  refused: 'refused',
  credentials: 'failed',
  unreachable: 'failed',
  lost: 'failed',
  status: 'failed',
  invalid: 'failed',
  internal: 'failed',
}

/** The metrics outcome of a fault. */
export function outcomeOf({ kind }: Fault): Outcome {
  return OUTCOMES[kind]
}

/** HTTP status of an answer that contains only the fault. */
export function httpStatusOf({ kind, status }: Fault): number {
  if (kind === 'credentials') return status ?? 401
  return kind === 'busy' ? 503 : 200
}
