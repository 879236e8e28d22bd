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
}

/** Why a request has no response. A class, so that server data cannot be mistaken for one. */
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

/** The metrics outcome of a fault. */
export function outcomeOf({ kind }: Fault): Outcome {
  return OUTCOMES[kind]
}

/** HTTP status of an answer that contains only the fault. */
export function httpStatusOf({ kind, status }: Fault): number {
  if (kind === 'credentials') return status ?? 401
  return kind === 'busy' ? 503 : 200
}
