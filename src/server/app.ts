import { type Context, Hono } from 'hono'
import { refusedCredentials } from '../access/authentication.ts'
import { hostStep, originStep } from '../access/host.ts'
import { type Refusal, runSteps } from '../access/steps.ts'
import type { Table } from '../build/types.ts'
import { stringify } from '../json/index.ts'
import { type Arriving, type Hub, INVALID_REQUEST } from '../mcp/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { type Direct, directly } from './direct.ts'
import { findEndpoint } from './endpoints.ts'
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

export type Elsewhere = (c: Context) => Promise<Response> | undefined

/** What answers HTTP. */
export interface Face {
  app: Hono
  /** Answers what is nothing but a call, without the app. */
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
  const app = new Hono()
  const [host, origin] = [hostStep(guard), originStep(guard)]
  const steps = routeSteps(parts)
  const replicas =
    cluster && ((exchange: HttpExchange) => replicasOf(exchange, { cluster, hub, log, onForward }))

  const serve = (c: Arriving): Response | Promise<Response> | undefined => {
    const { path } = c.req
    const found = plants?.owns(path) ? undefined : findEndpoint(table(), path)
    if (!found) return undefined
    const { route, endpoint } = found
    const exchange = new HttpExchange(c, route, endpoint, hub, replicas, proxies)
    const go = (refused: Refusal | Response | undefined) =>
      refused ? refusal(exchange, refused) : endpoint.serve(exchange, hub)
    const refused = runSteps(steps, exchange)
    const response = refused instanceof Promise ? refused.then(go) : go(refused)
    exchange.settle(response)
    return response
  }
  const failed = (error: unknown, { req }: Arriving) => {
    unexpected(`${req.method} ${req.path.slice(0, 200)}`)(error)
    return Response.json({ error: 'internal error' }, { status: 500 })
  }
  app.all('*', (c) => elsewhere?.(c) ?? serve(c) ?? serveOther(c, c.req.path))
  app.onError(failed)

  /** The plant store, the gateway's own pages, and paths where there is nothing. */
  function serveOther(c: Context, path: string): Response | Promise<Response> {
    const arrival = new HttpArrival(c)
    const store = plants?.owns(path) ? plants.app : undefined
    // Whether a gateway is well is asked by its address, and by load balancers without a name.
    const isProbe = ownPages && (PROBES.has(path) || (arrival.isNameless && isOwnPage(path)))
    const refused = (isProbe ? undefined : host.run(arrival)) ?? (store && origin.run(arrival))
    if (refused) {
      const { status, message, headers = {} } = refused
      return Response.json({ error: status, message }, { status, headers })
    }
    if (store) {
      const told = (response: Response) => {
        const { status } = response
        if (status !== 401 && status !== 429) return response
        const address = clientAddress(otherEndOf(c), arrival.headers, proxies)
        const refused = refusedCredentials('/plants', arrival.headers, address)
        onRefusedCredentials(status === 429 ? { ...refused, reason: 'limited' } : refused)
        return response
      }
      const response = store.fetch(c.req.raw, c.env)
      return response instanceof Promise ? response.then(told) : told(response)
    }
    return (
      ownPages?.answer(c, arrival.headers) ??
      nothingHere(c, ownPages?.isOpenTo(c, arrival.headers) ? table() : undefined)
    )
  }

  return { app, direct: directly(serve, failed) }
}

/** What is refused before its message is read is answered by an error without an id (2025-11-25, Security Warning). */
function refusal(exchange: HttpExchange, refused: Refusal | Response): Response {
  if (refused instanceof Response) return refused
  const { status, message, headers } = refused
  const body = stringify({ jsonrpc: '2.0', error: { code: INVALID_REQUEST, message } })
  const type = { 'content-type': 'application/json' }
  return new Response(body, { status, headers: { ...type, ...exchange.replyHeaders, ...headers } })
}
