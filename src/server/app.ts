import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { refusedCredentials } from '../access/authentication.ts'
import { hostStep, originStep } from '../access/host.ts'
import { HttpResponse } from '../access/http-response.ts'
import { type Refusal, runSteps } from '../access/steps.ts'
import type { Table } from '../build/types.ts'
import { CLIENT_DOCUMENT, clientDocument, clientDocumentUrl } from '../credentials/oauth/flow.ts'
import { stringify } from '../json/index.ts'
import { INVALID_REQUEST, type SessionRegistry, tooMuch } from '../mcp/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { type AdminRoutes, isAdminRoute, PROBES } from './admin-routes.ts'
import { findEndpoint } from './endpoints.ts'
import { nothingHere } from './front-page.ts'
import { clientAddress, HttpContext, HttpRequestHead, otherEndOf, type Proxies } from './http-context.ts'
import type { LoginPages } from './login-pages.ts'
import { type OnForward, replicasOf } from './replicas.ts'
import { routeSteps, type StepParts } from './route-steps.ts'
import type { Elsewhere } from './workers.ts'

/** The plant store and its paths. */
interface Plants {
  app: Hono
  owns: (path: string) => boolean
}

export interface AppParts extends StepParts {
  /** The current table; a request keeps the one it began with. */
  table: () => Table
  registry: SessionRegistry
  log: Logger
  adminRoutes?: AdminRoutes
  plants?: Plants
  onForward?: OnForward
  /** Reads headers of proxies; absent: none is trusted. */
  proxies?: Proxies
  /** `publicUrl` of the settings. */
  publicUrl?: string | undefined
  /** Pages where callers log in at servers. */
  loginPages?: LoginPages | undefined
  /** Answers what another process serves, such as the admin routes; undefined: serve it here. */
  elsewhere?: Elsewhere
}

/** The Hono app: path → route → steps → endpoint. */
export function createApp(parts: AppParts): Hono {
  const { table, registry, log, plants, elsewhere, cluster, proxies, onForward = () => {} } = parts
  const other = otherPages(parts)
  const replicas =
    cluster && ((context: HttpContext) => replicasOf(context, { cluster, registry, log, onForward }))

  const steps = routeSteps(parts)
  async function answer(context: HttpContext): Promise<HttpResponse> {
    const refused = await runSteps(steps, context)
    return refused
      ? refusal(context, refused)
      : sent(context, await context.endpoint.serve(context, registry))
  }

  const app = new Hono()
  if (plants) app.use(plantsOf(plants, parts))
  if (elsewhere)
    app.use(async (c, next) => {
      const response = await elsewhere(c)
      return response ? response.toWeb() : next()
    })
  app.all('*', async (c) => {
    const found = findEndpoint(table(), c.req.path)
    if (!found) return (await other(c)).toWeb()
    const context = new HttpContext(c, found.route, found.endpoint, registry, replicas, proxies)
    const response = await answer(context).catch((error) => internalError(error, c))
    context.settle(response.status)
    return response.toWeb()
  })
  app.onError((error, c) => internalError(error, c).toWeb())
  return app
}

function internalError(error: unknown, { req }: Context): HttpResponse {
  unexpected(`${req.method} ${req.path.slice(0, 200)}`)(error)
  return HttpResponse.json({ error: 'internal error' }, 500)
}

/** The admin routes, and paths where nothing is served. */
function otherPages({
  table,
  adminRoutes,
  guard,
  publicUrl,
  loginPages,
}: AppParts): (c: Context) => Promise<HttpResponse> {
  const host = hostStep(guard)
  return async (c) => {
    const { path } = c.req
    const arrival = new HttpRequestHead(c)
    // Health checks use the gateway's address, and load balancers send no host name.
    const isProbe = adminRoutes && (PROBES.has(path) || (arrival.isNameless && isAdminRoute(path)))
    const refused = isProbe ? undefined : await host.run(arrival)
    if (refused) return plainRefusal(refused)
    return (
      clientDocumentOf(path, publicUrl) ??
      (await loginPages?.(c, arrival.headers)) ??
      (await adminRoutes?.answer(c, arrival.headers)) ??
      nothingHere(c, adminRoutes?.isOpenTo(c, arrival.headers) ? table() : undefined)
    )
  }
}

/** How authorization servers get to know the gateway; undefined for other paths. */
function clientDocumentOf(path: string, publicUrl: string | undefined): HttpResponse | undefined {
  const url = path === CLIENT_DOCUMENT ? clientDocumentUrl(publicUrl) : undefined
  return url === undefined ? undefined : HttpResponse.json(clientDocument(url))
}

/** The plant store, which checks credentials itself. */
function plantsOf(
  { app, owns }: Plants,
  { guard, proxies, onRefusedCredentials = () => {} }: AppParts,
): MiddlewareHandler {
  const [host, origin] = [hostStep(guard), originStep(guard)]
  return async (c, next) => {
    if (!owns(c.req.path)) return next()
    const arrival = new HttpRequestHead(c)
    const refused = (await host.run(arrival)) ?? (await origin.run(arrival))
    if (refused) return plainRefusal(refused).toWeb()
    const response = await app.fetch(c.req.raw, c.env)
    const { status } = response
    if (status === 401 || status === 429) {
      const address = clientAddress(otherEndOf(c), arrival.headers, proxies)
      const refused = refusedCredentials('/plants', arrival.headers, address)
      onRefusedCredentials(status === 429 ? { ...refused, reason: 'limited' } : refused)
    }
    return response
  }
}

/** A refusal in the form of the admin routes. */
function plainRefusal({ status, message, headers }: Refusal): HttpResponse {
  return HttpResponse.json({ error: status, message }, status, headers)
}

/** The response with the headers of every answer, unless there is no memory for it. */
function sent({ lease, replyHeaders }: HttpContext, response: HttpResponse): HttpResponse {
  const { status, headers, body } =
    typeof response.body === 'string' && !lease.carries(response.body.length)
      ? tooMuch('maxBuffered')
      : response
  return new HttpResponse(status, { ...replyHeaders, ...headers }, body)
}

/** Refused before its message is read, a request gets an error without an id (2025-11-25, Security Warning). */
function refusal(context: HttpContext, refused: Refusal | HttpResponse): HttpResponse {
  if (refused instanceof HttpResponse) return refused
  const { status, message, headers } = refused
  const body = stringify({ jsonrpc: '2.0', error: { code: INVALID_REQUEST, message } })
  const type = { 'content-type': 'application/json' }
  return new HttpResponse(status, { ...type, ...context.replyHeaders, ...headers }, body)
}
