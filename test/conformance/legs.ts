import { type Cleanup, type Era, everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import type { Upstream } from '../fixtures/gateway.ts'
import type { Explanation } from './explained.ts'
import { faults, passes, type Revision, type SuiteResult } from './suite.ts'

export type Transport = 'http' | 'stdio' | 'sse'

/** An everything-server behind the gateway, asked in one revision. */
export interface Leg {
  /** Also the prefix it is served at. */
  upstream: string
  transport: Transport
  era: Era
  revision: Revision
}

const UPSTREAMS: [Transport, Era][] = [
  ['http', 'session'],
  ['http', 'dual'],
  ['http', 'modern'],
  ['stdio', 'session'],
  ['stdio', 'dual'],
  ['stdio', 'modern'],
  ['sse', 'session'],
]

/** Every upstream in every revision, those that the server itself does not speak too. */
export const LEGS: Leg[] = UPSTREAMS.flatMap(([transport, era]) =>
  (['2025-11-25', '2026-07-28'] as const).map((revision) => ({
    upstream: `${transport}-${era}`,
    transport,
    era,
    revision,
  })),
)

/** Whether the server speaks another generation of the protocol than the client. */
export function isBridged({ era, revision }: Leg): boolean {
  return era === (revision === '2025-11-25' ? 'modern' : 'session')
}

/** Starts the servers and gives what a configuration says about each. */
export async function startUpstreams(t: Cleanup): Promise<Record<string, Upstream>> {
  const entries = await Promise.all(
    UPSTREAMS.map(async ([transport, era]): Promise<[string, Upstream]> => {
      const name = `${transport}-${era}`
      if (transport === 'stdio') return [name, { type: 'stdio', ...everythingStdio(era) }]
      const url = await startEverything(t, transport, era)
      return [name, { type: transport === 'sse' ? 'sse' : 'streamable-http', url }]
    }),
  )
  return Object.fromEntries(entries)
}

/** What came out otherwise than directly and than explained, for people: empty when nothing did. */
export function differences(
  direct: SuiteResult,
  through: SuiteResult,
  explained: Record<string, Explanation>,
): string[] {
  return [...through].flatMap(([scenario, outcome]) => {
    const expected = lines(direct.get(scenario)?.checks)
    const alike = expected.join() === lines(outcome.checks).join()
    const explanation = explained[scenario]
    if (alike && explanation) return [`${scenario} comes out alike, although: ${explanation.reason}`]
    if (alike ? passes(outcome) : explanation?.passes === passes(outcome)) return []
    const wrong =
      faults(outcome) ||
      lines(outcome.checks)
        .filter((line) => !expected.includes(line))
        .join()
    return [`${scenario}: ${wrong || `of ${expected.length} checks, ${outcome.checks.length} were made`}`]
  })
}

function lines(checks: { id: string; status: string }[] = []): string[] {
  return checks.map(({ id, status }) => `${id} ${status}`)
}
