import type { RateRefusal } from '../access/rate-step.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { seldom } from '../telemetry/seldom.ts'

/** Minimum milliseconds between two lines about one caller at one prefix. */
const EVERY = 60_000

/** Logs and counts requests beyond a rate. */
export function reportRefusedRates(
  log: Logger,
  metrics: Pick<Metrics, 'refusedRate'>,
): (refusal: RateRefusal) => void {
  const say = seldom(EVERY, (refusal: RateRefusal, left) =>
    log.warn({ ...refusal, ...left }, 'too many requests: refused by a rate'),
  )
  return (refusal) => {
    const { prefix, per, caller, address } = refusal
    metrics.refusedRate(prefix, per)
    say(JSON.stringify([prefix, per, caller ?? address]), refusal)
  }
}
