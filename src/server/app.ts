import { createRequire } from 'node:module'
import type { Context, Hono } from 'hono'
import { refusedCredentials } from '../access/authentication.ts'
import { hostStep, originStep } from '../access/host.ts'
import { HttpResponse } from '../access/http-response.ts'
import { type Refusal, runSteps, type StepResult } from '../access/steps.ts'
import type { Table } from '../build/types.ts'
import { stringify } from '../json/index.ts'
import { type Arriving, type Hub, INVALID_REQUEST } from '../mcp/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { type Direct, directly } from './direct.ts'
import { endpointFinder } from './endpoints.ts'
import { clientAddress, HttpArrival, HttpExchange, otherEndOf, type Proxies } from './exchange.ts'
import { nothingHere } from './nothing-here.ts'
import { isOwnPage, type OwnPages, PROBES } from './own-pages.ts'
import { type OnForward, replicasOf } from './replicas.ts'
import { routeSteps, type StepParts } from './route-steps.ts'

export interface AppParts extends StepParts {
  /** The table of the moment; a request keeps the one it began with. */
  table: () => Table
  hub: Hub
  log: Logger
  /** The gateway's own paths. */
  ownPages?: OwnPages
  /** The plant store and the paths that are its own. */
  plants?: { app: Hono; owns: (path: string) => boolean }
  onForward?: OnForward
  /** Reads what proxies say; absent: none is believed. */
  proxies?: Proxies
  /** Answers what another process has, such as the gateway's own pages; undefined: it is served here. */
  elsewhere?: Elsewhere
}

export type Elsewhere = (c: Arriving) => Promise<HttpResponse> | undefined

type Answer = HttpResponse | Promise<HttpResponse>

/** What answers HTTP. */
export interface Face {
  /** Made when it is asked for first: with it and its listener, Node loads the interfaces of the web. */
  readonly app: Hono
  /** Answers plain requests without the app. */
  direct: Direct
}

/** That of `createFace` alone. */
export function createApp(parts: AppParts): Hono {
  return createFace(parts).app
}

/** The gateway's HTTP face: path → route → steps → endpoint. */
export function createFace(parts: AppParts): Face {
  const { table, hub, log, plants, ownPages, guard, cluster, proxies } = parts
  const { onForward = () => {}, onRefusedCredentials = () => {}, elsewhere } = parts
  const [host, origin] = [hostStep(guard), originStep(guard)]
  const steps = routeSteps(parts)
  const findEndpoint = endpointFinder()
  const replicas =
    cluster && ((exchange: HttpExchange) => replicasOf(exchange, { cluster, hub, log, onForward }))

  const serve = (c: Arriving): Answer | undefined => {
    const { path } = c.req
    const found = findEndpoint(table(), path)
    if (!found) return undefined
    const { route, endpoint } = found
    const exchange = new HttpExchange(c, route, endpoint, hub, replicas, proxies)
    const go = (refused: StepResult) => (refused ? refusal(exchange, refused) : endpoint.serve(exchange, hub))
    const refused = runSteps(steps, exchange)
    const response = refused instanceof Promise ? refused.then(go) : go(refused)
    exchange.settle(response)
    return response
  }
  const failed = (error: unknown, { req }: Arriving) => {
    unexpected(`${req.method} ${req.path.slice(0, 200)}`)(error)
    return HttpResponse.json({ error: 'internal error' }, 500)
  }
  const answer = (c: Arriving) => elsewhere?.(c) ?? serve(c) ?? serveOther(c)

  /** The gateway's own pages, and paths where there is nothing. */
  function serveOther(c: Arriving): Answer {
    const { path } = c.req
    const arrival = new HttpArrival(c)
    // Whether a gateway is well is asked by its address, and by load balancers without a name.
    const isProbe = ownPages && (PROBES.has(path) || (arrival.isNameless && isOwnPage(path)))
    const refused = isProbe ? undefined : host.run(arrival)
    if (refused) return plainRefusal(refused)
    return (
      ownPages?.answer(c, arrival.headers) ??
      nothingHere(c, ownPages?.isOpenTo(c, arrival.headers) ? table() : undefined)
    )
  }

  async function servePlants(c: Context, store: Hono): Promise<Response> {
    const arrival = new HttpArrival(c)
    const refused = host.run(arrival) ?? origin.run(arrival)
    if (refused) return plainRefusal(refused).toWeb()
    const response = await store.fetch(c.req.raw, c.env)
    const { status } = response
    if (status === 401 || status === 429) {
      const address = clientAddress(otherEndOf(c), arrival.headers, proxies)
      const refused = refusedCredentials('/plants', arrival.headers, address)
      onRefusedCredentials(status === 429 ? { ...refused, reason: 'limited' } : refused)
    }
    return response
  }

  function createHono(): Hono {
    const { Hono } = createRequire(import.meta.url)('hono') as typeof import('hono')
    const app = new Hono()
    app.all('*', async (c) =>
      plants?.owns(c.req.path) ? servePlants(c, plants.app) : (await answer(c)).toWeb(),
    )
    app.onError((error, c) => failed(error, c).toWeb())
    return app
  }
  const direct = directly((c) => (plants?.owns(c.req.path) ? undefined : answer(c)), failed)
  return new LazyFace(direct, createHono)
}

class LazyFace implements Face {
  private made: Hono | undefined

  constructor(
    readonly direct: Direct,
    private readonly make: () => Hono,
  ) {}

  get app(): Hono {
    this.made ??= this.make()
    return this.made
  }
}

/** In the form of the gateway's own pages. */
function plainRefusal({ status, message, headers }: Refusal): HttpResponse {
  return HttpResponse.json({ error: status, message }, status, headers)
}

/** What is refused before its message is read is answered by an error without an id (2025-11-25, Security Warning). */
function refusal(exchange: HttpExchange, refused: Refusal | HttpResponse): HttpResponse {
  if (refused instanceof HttpResponse) return refused
  const { status, message, headers } = refused
  const body = stringify({ jsonrpc: '2.0', error: { code: INVALID_REQUEST, message } })
  const type = { 'content-type': 'application/json' }
  return new HttpResponse(status, { ...type, ...exchange.replyHeaders, ...headers }, body)
}
