import { isBridged, type Leg } from './legs.ts'
import { scenarios } from './suite.ts'

// Where a scenario cannot come out through the gateway as it does directly, and why. A test fails when one of these
// comes out alike after all, as when another one does not.

export interface Explanation {
  reason: string
  /** Whether the scenario still passes, without a warning. */
  passes: boolean
}

/** Where the gateway writes the answers of a session anew. */
export const WRITTEN_ANEW: Record<string, Explanation> = {
  'server-sse-polling': {
    reason: 'the server has no event stream that it could close, and answers with JSON',
    passes: true,
  },
  'server-sse-multiple-streams': {
    reason: 'an answer that comes alone is sent as JSON, of which the suite takes note',
    passes: true,
  },
}

/** A client of 2026-07-28 in front of a server of the session-based revisions. */
const TO_SESSION: Record<string, Explanation> = {
  ...every(
    ['input-required-result-basic-elicitation', 'input-required-result-ignore-extra-params'],
    'the scenario wants a key of its own choice in `inputRequests`; requests of a session have ids, not keys',
  ),
  ...every(
    ['input-required-result-multiple-input-requests'],
    'the server sends one request after the other, and each becomes a round of its own',
  ),
  ...every(
    scenarios('2026-07-28').unscored.filter(
      (name) => name.startsWith('tasks-') && name !== 'tasks-status-notifications',
    ),
    'the extension belongs to 2026-07-28, so that a server of earlier revisions does not have it',
  ),
}

/** By scenario, for one leg. */
export function explained(leg: Leg): Record<string, Explanation> {
  return {
    ...(leg.revision === '2025-11-25' && WRITTEN_ANEW),
    ...(isBridged(leg) && leg.revision === '2026-07-28' && TO_SESSION),
  }
}

function every(names: readonly string[], reason: string): Record<string, Explanation> {
  return Object.fromEntries(names.map((name) => [name, { reason, passes: false }]))
}
