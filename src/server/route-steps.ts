import { authenticationStep, type OnRefusedCredentials } from '../access/authentication.ts'
import { clientCertificateStep } from '../access/client-certificate.ts'
import { corsStep } from '../access/cors.ts'
import type { FailedLogins } from '../access/failed-logins.ts'
import { type HostGuard, hostStep, originStep } from '../access/host.ts'
import { limitsStep, type RateRefusal, rateStep } from '../access/limits-steps.ts'
import { listingStep } from '../access/listing.ts'
import { type Overload, overloadStep } from '../access/overload.ts'
import type { Quota } from '../access/quota.ts'
import type { Step } from '../access/steps.ts'
import type { Cluster } from '../cluster/index.ts'
import { replicaStep } from './replicas.ts'

export interface StepParts {
  guard: HostGuard
  /** Counts running calls; absent: not counted. */
  calls?: Quota
  /** Refuses requests during overload; absent: never. */
  overload?: Overload
  /** Absent: a single process. */
  cluster?: Cluster
  clientCertificates?: boolean
  /** Called for every request with refused credentials. */
  onRefusedCredentials?: OnRefusedCredentials
  /** Absent: wrong credentials are unlimited. */
  logins?: FailedLogins
  /** Refuses requests that could not be logged; absent: not required. */
  audit?: Step | undefined
  /** Called for every request beyond a rate. */
  onRateRefused?: (refusal: RateRefusal) => void
}

/** The steps of a route, in order. A new step is a file in `access/` and a line here. */
export function routeSteps(parts: StepParts): readonly Step[] {
  const { guard, calls, overload, cluster, clientCertificates, logins, audit } = parts
  const { onRefusedCredentials, onRateRefused } = parts
  return [
    hostStep(guard),
    originStep(guard),
    // Before authentication, as preflights carry no credentials.
    corsStep,
    ...(overload ? [overloadStep(overload)] : []),
    ...(audit ? [audit] : []),
    ...(cluster ? [replicaStep(cluster)] : []),
    ...(clientCertificates ? [clientCertificateStep] : []),
    authenticationStep(onRefusedCredentials, logins),
    // After authentication, as limits apply to each caller.
    limitsStep(calls),
    // After the limits, which determine the quota key.
    rateStep(onRateRefused),
    listingStep,
  ]
}
