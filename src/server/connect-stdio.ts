import { randomUUID } from 'node:crypto'
import { limitsStep } from '../access/limits-step.ts'
import type { Quota } from '../access/quota.ts'
import { type RateRefusal, rateStep } from '../access/rate-step.ts'
import type { Peer } from '../access/request-lease.ts'
import { runSteps, type Step } from '../access/steps.ts'
import type { Route, Table } from '../build/types.ts'
import { type SessionRegistry, StdioConnection } from '../mcp/index.ts'
import { facing } from './endpoints.ts'
import { StdioContext } from './stdio-context.ts'

interface StdioParts {
  /** The current table. */
  table: () => Table
  registry: SessionRegistry
  /** Counts running calls. */
  calls: Quota
  /** Refuses requests that could not be logged; absent: not required. */
  audit?: Step | undefined
  onRateRefused?: (refusal: RateRefusal) => void
}

/**
 * Connects a client on standard input and output with a route. Only steps unrelated to HTTP and credentials run,
 * because access to the process implies access to the route.
 * @param send receives the lines for the client
 */
export function connectStdio(
  { table, registry, calls, audit, onRateRefused }: StdioParts,
  first: Route,
  send: (line: string) => void,
): StdioConnection {
  const steps = [limitsStep(calls), ...(audit ? [audit] : []), rateStep(onRateRefused)]
  const peer: Peer = { key: randomUUID(), gone: false, onGone() {} }
  let last = first
  const routeNow = () => table().routes.get(first.prefix)
  return new StdioConnection({
    endpoint() {
      const route = routeNow()
      return route && facing({ route, caller: undefined }, registry)
    },
    async arrive(line) {
      last = routeNow() ?? last
      const context = new StdioContext(line, last, peer, registry.results)
      const refused = await runSteps(steps, context)
      if (refused && 'message' in refused) context.refused = refused.message
      return context
    },
    send,
  })
}
