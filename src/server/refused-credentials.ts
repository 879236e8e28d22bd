import { attackerOf, type OnRefusedCredentials, type RefusedCredentials } from '../access/authentication.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { seldom } from '../telemetry/seldom.ts'

/** Milliseconds between two lines about one address at one prefix. */
const EVERY = 60_000

/** Logs and counts requests whose credentials were refused. What they were is never told. */
export function reportRefusedCredentials(
  log: Logger,
  metrics: Pick<Metrics, 'refusedCredentials'>,
): OnRefusedCredentials {
  const say = seldom(EVERY, (refused: RefusedCredentials, left) => {
    // Clients look for the way to credentials by a request without any.
    const level = refused.reason === 'missing' ? 'info' : 'warn'
    log[level]({ ...refused, ...left }, 'credentials refused')
  })
  return (refused) => {
    metrics.refusedCredentials(refused.prefix, refused.reason)
    say(attackerOf(refused), refused)
  }
}
