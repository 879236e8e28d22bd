import { attackerOf, type OnRefusedCredentials, type RefusedCredentials } from '../access/authentication.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { seldom } from '../telemetry/seldom.ts'

/** Minimum milliseconds between two lines about one address at one prefix. */
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
