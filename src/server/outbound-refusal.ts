import type { OutboundRefusal } from '../build/outbound.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { sparing } from '../telemetry/sparing.ts'

/** Logs and counts refused outbound connections. Callers can cause them, so the lines are limited. */
export function reportOutboundRefusal(
  log: Logger,
  metrics: Pick<Metrics, 'outboundRefused'>,
): (refusal: OutboundRefusal) => void {
  const say = sparing((refusal: OutboundRefusal, left) => {
    log.warn({ ...refusal, ...left }, 'connection refused: `outbound` denies its address')
  })
  return (refusal) => {
    metrics.outboundRefused(refusal.tenant, refusal.class)
    say(refusal)
  }
}
