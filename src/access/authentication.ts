import type { FailedLogins } from './failed-logins.ts'
import { countOf } from './host.ts'
import type { Identity } from './identity.ts'
import { networkOf } from './quota.ts'
import type { Denial, DenialReason, Refusal, Step, StepRequest } from './steps.ts'

/** A request whose credentials were refused. */
export interface RefusedCredentials {
  /** A prefix, or an admin path. */
  prefix: string
  reason: DenialReason
  /** Explanation of the fault. */
  detail?: string
  /** Address of the client. */
  address: string | undefined
}

export type OnRefusedCredentials = (refused: RefusedCredentials) => void

/** Describes a request whose credentials were refused. */
export function refusedCredentials(
  prefix: string,
  headers: Readonly<Record<string, string | undefined>>,
  address: string | undefined,
): RefusedCredentials {
  return { prefix, reason: headers.authorization === undefined ? 'missing' : 'unknown', address }
}

/** Key under which repeated attempts are combined in the log. */
export function attackerOf({ prefix, address, reason }: RefusedCredentials): string {
  return JSON.stringify([prefix, reason, networkOf(address ?? '')])
}

/**
 * Authenticates the caller on routes that require it.
 * @param logins limits wrong credentials; absent: unlimited
 */
export function authenticationStep(onRefused: OnRefusedCredentials = () => {}, logins?: FailedLogins): Step {
  /** Counts the login; an address with too many wrong ones is refused whatever it sends. */
  function judge(request: StepRequest, result: Identity | Denial): Refusal | undefined {
    const { address } = request
    if ('status' in result)
      return refuse(request, (isGuess(request, result) && logins?.failed(address)) || result)
    const denial = request.forwarded ? undefined : logins?.succeeded(address, result.caller)
    if (denial) return refuse(request, denial)
    request.identity = result
    return undefined
  }
  function refuse(request: StepRequest, result: Denial): Refusal {
    // Health checks between replicas have no credentials.
    const { route, headers, address, forwarded } = request
    const { reason, message, note } = result
    const detail = note === undefined ? message : `${message}: ${note}`
    const why = reason && { reason, ...(reason !== 'missing' && { detail }) }
    if (!forwarded) onRefused({ ...refusedCredentials(route.prefix, headers, address), ...why })
    return result
  }
  return {
    name: 'authentication',
    async run(request) {
      const { authenticate } = request.route
      if (!authenticate || request.open) return undefined
      if (hasTwo(request)) return refuse(request, TWO)
      const denial =
        logins && !request.forwarded && request.headers.authorization !== undefined
          ? logins.refuse(request.address)
          : undefined
      if (denial) return refuse(request, denial)
      return judge(request, await authenticate(request))
    },
  }
}

/** Node reads the first; a proxy may have checked the other (RFC 6750, 3.1). */
const TWO: Denial = {
  status: 400,
  reason: 'unknown',
  message: 'The request has more than one Authorization header',
}

function hasTwo({ headers, rawHeaders }: StepRequest): boolean {
  return headers.authorization !== undefined && countOf('authorization', rawHeaders) > 1
}

/** Whether the request may be guessing credentials; expired ones were once valid. */
function isGuess({ headers, forwarded }: StepRequest, { reason }: Denial): boolean {
  const unknown = reason === undefined || reason === 'unknown'
  return unknown && headers.authorization !== undefined && !forwarded
}
