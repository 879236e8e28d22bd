import { authenticationStep, type OnRefusedCredentials } from '../access/authentication.ts'
import { clientCertificateStep } from '../access/client-certificate.ts'
import { corsStep } from '../access/cors.ts'
import type { Logins } from '../access/failed-logins.ts'
import { type HostGuard, hostStep, originStep } from '../access/host.ts'
import { listingStep } from '../access/listing.ts'
import { type Overload, overloadStep } from '../access/overload.ts'
import type { Quota } from '../access/quota.ts'
import { type RateRefusal, rateStep } from '../access/rate.ts'
import { limitsStep } from '../access/stay.ts'
import type { Step } from '../access/steps.ts'
import type { Cluster } from '../cluster/index.ts'
import { replicaStep } from './replicas.ts'

export interface StepParts {
  guard: HostGuard
  /** Of calls under way; absent: they are not counted. */
  calls?: Quota
  /** Refuses requests while there are too many; absent: it never does. */
  overload?: Overload
  /** Absent where the gateway is one process. */
  cluster?: Cluster
  /** Clients have certificates. */
  clientCertificates?: boolean
  /** Is told of every request whose credentials were refused. */
  onRefusedCredentials?: OnRefusedCredentials
  /** Absent: any number of wrong credentials may come. */
  logins?: Logins
  /** Refuses requests that could not be written down; absent: none has to be. */
  audit?: Step | undefined
  /** Is told of every request beyond a rate. */
  onRateRefused?: (refusal: RateRefusal) => void
}

/** What a request to a route passes, in this order. A new step is a file in `access/` and a line here. */
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
    // After authentication, as callers share what there is.
    limitsStep(calls),
    // After the limits, which know whose share a request is.
    rateStep(onRateRefused),
    listingStep,
  ]
}
