import type { Outcome } from '../telemetry/outcome.ts'

/**
 * Why a request has no response.
 *
 * - `timeout`: no answer in time.
 * - `cancelled`: the client cancelled the request or went away.
 * - `busy`: a limit is reached; the same request may work later.
 * - `refused`: the request was not sent, as it is not allowed or cannot be made.
 * - `credentials`: the upstream refused the credentials that it was sent.
 * - `unreachable`: the upstream could not be started or connected to.
 * - `lost`: the connection, process or session ended before the answer.
 * - `status`: the upstream answered with an HTTP status that says nothing more.
 * - `invalid`: the upstream sent something that is not accepted.
 * - `internal`: a fault of the gateway's own.
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
  /** HTTP status of the upstream's answer; the client gets it too where the fault is `credentials`. */
  status?: number
  /** `WWW-Authenticate` of an upstream that refused the client's own credentials. */
  challenge?: string
  /** Whether the upstream has refused the request without having done anything, so that it may be sent again. */
  isUnexecuted?: boolean
}

/** Why a request has no response. A class, so that no message of a server passes for one. */
export class Fault {
  readonly status: number | undefined
  readonly challenge: string | undefined
  readonly isUnexecuted: boolean

  /** @param message a sentence for the caller */
  constructor(
    readonly kind: FaultKind,
    readonly message: string,
    { status, challenge, isUnexecuted = false }: FaultDetails = {},
  ) {
    this.isUnexecuted = isUnexecuted
    this.status = status
    this.challenge = challenge
  }
}

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

/** How a call that ended with a fault counts. */
export function outcomeOf({ kind }: Fault): Outcome {
  return OUTCOMES[kind]
}

/** The HTTP status of an answer that says nothing but the fault. */
export function httpStatusOf({ kind, status }: Fault): number {
  if (kind === 'credentials') return status ?? 401
  return kind === 'busy' ? 503 : 200
}
