import { authenticationStep, type OnRefusedCredentials } from '../access/authentication.ts'
import { corsStep } from '../access/cors.ts'
import { type HostGuard, hostStep, originStep } from '../access/host.ts'
import type { Quota } from '../access/quota.ts'
import { limitsStep } from '../access/stay.ts'
import type { Step } from '../access/steps.ts'
import type { Cluster } from '../cluster/index.ts'
import { replicaStep } from './replicas.ts'

export interface StepParts {
  guard: HostGuard
  /** Of calls under way; absent: they are not counted. */
  calls?: Quota
  /** Absent where the gateway is one process. */
  cluster?: Cluster
  /** Is told of every request whose credentials were refused. */
  onRefusedCredentials?: OnRefusedCredentials
}

/** What a request to a route passes, in this order. A new step is a file in `access/` and a line here. */
export function routeSteps({ guard, calls, cluster, onRefusedCredentials }: StepParts): readonly Step[] {
  return [
    hostStep(guard),
    originStep(guard),
    // Before authentication, as preflights carry no credentials.
    corsStep,
    ...(cluster ? [replicaStep(cluster)] : []),
    authenticationStep(onRefusedCredentials),
    // After authentication, as callers share what there is.
    limitsStep(calls),
  ]
}
