import { attackerOf, type OnRefusedCredentials, type RefusedCredentials } from '../access/authentication.ts'
import type { RateRefusal } from '../access/limits-steps.ts'
import type { OutboundRefusal } from '../build/outbound.ts'
import type { AssembleContext } from '../build/prepare-context.ts'
import { type BreakerChange, Resilience } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics, UpstreamLabels } from '../telemetry/metrics.ts'
import { seldom, sparing } from '../telemetry/seldom.ts'

/** Minimum milliseconds between two lines about one address or caller at one prefix. */
const EVERY = 60_000

/** Logs and counts requests with refused credentials, never the credentials. */
export function reportRefusedCredentials(
  log: Logger,
  metrics: Pick<Metrics, 'refusedCredentials'>,
): OnRefusedCredentials {
  const say = seldom(EVERY, (refused: RefusedCredentials, left) => {
    // Clients begin without credentials to discover how to authenticate.
    const level = refused.reason === 'missing' ? 'info' : 'warn'
    log[level]({ ...refused, ...left }, 'credentials refused')
  })
  return (refused) => {
    metrics.refusedCredentials(refused.prefix, refused.reason)
    say(attackerOf(refused), refused)
  }
}

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
