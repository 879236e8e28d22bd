import type { RateRule } from '../config/index.ts'
import { type Quota, quotaKeyOf } from './quota.ts'
import { type Excesses, type Meter, type RateLimits, rateMessage } from './rate.ts'
import { RequestLease } from './request-lease.ts'
import type { Refusal, Step, StepRequest } from './steps.ts'

/**
 * Leases a request's resources until its response is sent.
 * @param calls counts running calls; absent: not counted
 */
export function limitsStep(calls: Quota | undefined): Step {
  return {
    name: 'limits',
    async run(request) {
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

/** A request refused because of a rate. */
export interface RateRefusal {
  prefix: string
  per: RateRule['per']
  caller: string | undefined
  /** Address of the client. */
  address: string | undefined
}

/**
 * Counts requests. A POST is counted once its messages are known, by the `meter` set here; any other request counts as
 * one.
 */
export function rateStep(onRefused: (refusal: RateRefusal) => void = () => {}): Step {
  const refusalOf = ([excess]: Excesses): Refusal | undefined =>
    excess && {
      status: 429,
      message: rateMessage(excess),
      headers: { 'retry-after': String(excess.retryAfter) },
    }
  return {
    name: 'rate',
    async run(request) {
      const { route, forwarded } = request
      // A forwarded request was counted by the replica that received it.
      if (!route.rate || forwarded) return undefined
      const meter = meterOf(request, route.rate, onRefused)
      request.meter = meter
      if (request.method === 'POST') return undefined
      return refusalOf(await meter([undefined]))
    },
  }
}

function meterOf(request: StepRequest, rate: RateLimits, onRefused: (refusal: RateRefusal) => void): Meter {
  const { route, address, caller, callerName = caller } = request
  return async (tools) => {
    const excesses = await rate.take(request, tools)
    for (const excess of excesses)
      if (excess) onRefused({ prefix: route.prefix, per: excess.per, caller: callerName, address })
    return excesses
  }
}
