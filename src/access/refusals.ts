/** The limits beyond which requests are refused or ended: settings of `limits`, parts of them, and fixed ones. */
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

/** Message to a client refused because of a limit. */
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

/** Retry-After of refused clients, in seconds. */
export const RETRY_AFTER = '5'
