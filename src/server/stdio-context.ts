import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { limitsStep, type RateRefusal, rateStep } from '../access/limits-steps.ts'
import { parsedSize } from '../access/memory.ts'
import type { Permissions } from '../access/permissions.ts'
import type { Quota } from '../access/quota.ts'
import type { Meter } from '../access/rate.ts'
import type { Peer, RequestLease } from '../access/request-lease.ts'
import { runSteps, type Step, type StepRequest } from '../access/steps.ts'
import type { Route, Table } from '../build/types.ts'
import {
  type KeptResults,
  type LineContext,
  type RequestContext,
  type SessionRegistry,
  StdioConnection,
  UnservedSpans,
} from '../mcp/index.ts'
import { mcpEndpoint } from './endpoints.ts'
import { newRequestId } from './http-context.ts'

/** One line of standard input as a request to a route, from a single anonymous caller. */
class StdioContext implements LineContext, StepRequest {
  readonly isLine = true
  readonly method = 'POST'
  readonly path: string
  readonly headers = {}
  readonly host = undefined
  readonly rawHeaders = undefined
  readonly address = undefined
  readonly socket = undefined
  readonly cors = undefined
  readonly allow = 'POST'
  readonly open = false
  readonly requestId = newRequestId()
  readonly replyHeaders: Record<string, string> = {}
  readonly caller = undefined
  readonly callerName = undefined
  identity: undefined = undefined
  forwarded = false
  clientConnection: undefined = undefined
  listing: 'list' | 'search' | undefined = undefined
  lease!: RequestLease
  meter: Meter | undefined = undefined
  refused: string | undefined = undefined
  readonly unserved: UnservedSpans | undefined
  private ends: (() => void)[] = []
  private leaves: (() => void)[] = []
  private left = false
  private permitted: Permissions | undefined

  /** @param allKept kept results of all callers */
  constructor(
    private readonly line: Buffer,
    readonly route: Route,
    readonly peer: Peer,
    private readonly allKept: KeptResults,
  ) {
    this.path = `${route.prefix}/mcp`
    const { tracer } = route.callLog
    this.unserved = tracer && new UnservedSpans(tracer, route.callLog, this)
  }

  get permissions(): Permissions | undefined {
    const { authorize } = this.route
    if (authorize) this.permitted ??= authorize(this)
    return this.permitted
  }
  get results(): KeptResults | undefined {
    return this.route.keepsResults ? this.allKept : undefined
  }

  sessionId(): undefined {
    return undefined
  }
  query() {
    return {}
  }
  parameter(): undefined {
    return undefined
  }
  target(): string {
    return this.path
  }

  async body(): ReturnType<RequestContext['body']> {
    if (!this.lease.reservation.add(parsedSize(this.line))) return { failure: 'no-room' }
    return isUtf8(this.line) ? { text: this.line.toString('utf8') } : { failure: 'not-utf8' }
  }

  isGone(): boolean {
    return this.left
  }
  onGone(listener: () => void): () => void {
    if (this.left) queueMicrotask(listener)
    return on(this.leaves, listener)
  }
  onEnd(listener: () => void): () => void {
    return on(this.ends, listener)
  }
  /** Nothing is relayed, so nothing can break off. */
  cut(): void {}
  leave(): void {
    this.left = true
    for (const listener of this.leaves.splice(0)) listener()
  }
  end(): void {
    this.unserved?.end(200)
    for (const listener of this.ends.splice(0)) listener()
  }
}

function on(listeners: (() => void)[], listener: () => void): () => void {
  listeners.push(listener)
  return () => {
    const index = listeners.lastIndexOf(listener)
    if (index >= 0) listeners.splice(index, 1)
  }
}

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
      return route && mcpEndpoint(route, registry)
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
