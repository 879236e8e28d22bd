import type { AssembleContext } from '../build/prepare-context.ts'
import { type BreakerChange, Resilience } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics, UpstreamLabels } from '../telemetry/metrics.ts'
import { sparing } from '../telemetry/sparing.ts'

type Line = UpstreamLabels & Omit<BreakerChange, 'key'> & { origin: string }

/**
 * Creates retries and circuit breakers of servers, which are logged and counted. Callers may choose origins, so the
 * lines are limited.
 */
export function resilienceFactory(
  log: Logger,
  metrics: () => Pick<Metrics, 'retry'>,
): NonNullable<AssembleContext['createResilience']> {
  const say = sparing(({ state, ...line }: Line, left) => {
    if (state === 'open')
      log.warn({ ...line, ...left }, 'circuit breaker opened: the origin is not called for now')
    else log.info({ ...line, ...left }, 'circuit breaker closed: the origin works again')
  })
  return (of, breaker) =>
    new Resilience({
      name: of.server,
      breaker,
      onRetry: (outcome) => metrics().retry(of, outcome),
      onBreaker: ({ key: origin, ...change }) => say({ ...of, origin, ...change }),
    })
}
