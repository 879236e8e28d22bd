import { type Quota, quotaKeyOf } from './quota.ts'
import { RequestLease } from './request-lease.ts'
import type { Step } from './steps.ts'

/**
 * Leases a request's resources until its response is sent.
 * @param calls counts running calls; absent: not counted
 */
export function limitsStep(calls: Quota | undefined): Step {
  return {
    name: 'limits',
    run(request) {
      const { route, caller, address, forwarded, clientConnection } = request
      const quotaKey = quotaKeyOf(route.prefix, caller, address)
      // A forwarding gateway counts the calls itself, a worker does not.
      const isCounted = !forwarded || clientConnection?.isGateway === false
      const lease = new RequestLease(route.prefix, quotaKey, isCounted ? calls : undefined)
      request.lease = lease
      request.onEnd(() => lease.end())
      return undefined
    },
  }
}
