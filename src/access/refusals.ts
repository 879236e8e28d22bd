/** The settings (`limits`) beyond which something is refused or ended. */
export type LimitName =
  | 'maxConnections'
  | 'maxConnectionsPerAddress'
  | 'maxSessions'
  | 'maxSessionsPerPrefix'
  | 'maxSessionsPerCaller'
  | 'maxCallsPerPrefix'
  | 'maxCallsPerCaller'
  | 'maxFailedLogins'
  | 'maxEventLoopDelay'
  | 'maxQueued'
  | 'maxBuffered'
  | 'writeTimeout'

/** What a client is told that is refused beyond a limit. */
export function limitReached(limit: LimitName): string {
  return `The gateway has reached a limit (${limit}): try again later`
}

const counts = new Map<LimitName, number>()

/** Counts a refusal, for metrics. */
export function countRefusal(limit: LimitName): void {
  counts.set(limit, (counts.get(limit) ?? 0) + 1)
}

/** Refusals since the process began, by limit. */
export function refusals(): ReadonlyMap<LimitName, number> {
  return counts
}

/** Seconds after which a client that was refused may try again. */
export const RETRY_AFTER = '5'
