import { randomUUID } from 'node:crypto'
import type { Quota } from '../access/quota.ts'
import { type RateRefusal, rateStep } from '../access/rate.ts'
import { limitsStep, type Peer } from '../access/stay.ts'
import { runSteps, type Step } from '../access/steps.ts'
import type { Route, Table } from '../build/types.ts'
import { type Hub, StdioConnection } from '../mcp/index.ts'
import { facing } from './endpoints.ts'
import { StdioExchange } from './line-exchange.ts'

interface StdioParts {
  /** The table of the moment. */
  table: () => Table
  hub: Hub
  /** Of calls under way. */
  calls: Quota
  /** Refuses requests that could not be written down; absent: none has to be. */
  audit?: Step | undefined
  onRateRefused?: (refusal: RateRefusal) => void
}

/**
 * Connects a client on standard input and output with a route. Of the steps of routes those are passed that are not about
 * HTTP or credentials: who can start the process is its user.
 * @param send takes the lines for the client
 */
export function connectStdio(
  { table, hub, calls, audit, onRateRefused }: StdioParts,
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
      return route && facing({ route, caller: undefined }, hub)
    },
    async arrive(line) {
      last = routeNow() ?? last
      const exchange = new StdioExchange(line, last, peer, hub.results)
      const refused = await runSteps(steps, exchange)
      if (refused && 'message' in refused) exchange.refused = refused.message
      return exchange
    },
    send,
  })
}
