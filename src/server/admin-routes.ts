import type { Context } from 'hono'
import type { AdminPrincipal, Sender } from '../access/admin.ts'
import { type OnRefusedCredentials, refusedCredentials } from '../access/authentication.ts'
import { bearerChallenge } from '../access/bearer.ts'
import type { FailedLogins } from '../access/failed-logins.ts'
import type { HostGuard } from '../access/host.ts'
import { HttpResponse, type ResponseHeaders } from '../access/http-response.ts'
import { memory } from '../access/memory.ts'
import type { Difference } from '../build/types.ts'
import {
  type Identity,
  identityOf,
  isLocal,
  type ListenAddress,
  named,
  qualifiedName,
} from '../config/index.ts'
import { hasErrors } from '../findings/index.ts'
import { isObject } from '../json/index.ts'
import { nodePair, type RequestHeaders, readBody } from '../mcp/index.ts'
import { isLoopback } from '../net/index.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { inTurns, nearest, type Steps } from '../text/index.ts'
import type { Console } from './console/console.ts'
import { CONSOLE } from './console/layout.tsx'
import { consolePage, isConsole } from './console-routes.ts'
import { wantsPage } from './front-page.ts'
import { clientAddress, otherEndOf, type Proxies } from './http-context.ts'
import type { Reloads } from './reloads.ts'
import { type Status, shownFinding } from './status.ts'
import { TableRefused } from './workers.ts'

export interface AdminRoutesParts {
  bind: ListenAddress
  access: (sender: Sender) => AdminPrincipal | undefined
  guard: HostGuard
  reloads: Reloads
  diff: () => Promise<Difference>
  /** Why `/_ready` fails; undefined if ready. */
  unready: () => string | undefined
  metrics: Metrics
  status: (principal: AdminPrincipal) => Promise<Steps<Status>>
  /** The served configurations. */
  served: () => readonly Identity[]
  /** Pages for people. */
  console: Console
  onRefusedCredentials: OnRefusedCredentials
  logins: FailedLogins
  /** Reads headers of proxies; absent: none is trusted. */
  proxies?: Proxies
}

export interface AdminRoutes {
  /** Answers a request for an admin route; undefined for other paths. */
  answer(c: Context, headers: RequestHeaders): Promise<HttpResponse | undefined>
  /** Whether the sender may see everything without a token. */
  isOpenTo(c: Context, headers: RequestHeaders): boolean
}

const METHODS: Record<string, readonly string[]> = {
  '/_reload': ['POST'],
  '/_diff': ['GET', 'HEAD'],
  '/_status': ['GET', 'HEAD'],
  '/_health': ['GET', 'HEAD'],
  '/_ready': ['GET', 'HEAD'],
  '/metrics': ['GET', 'HEAD'],
}

const NO_STORE = { 'cache-control': 'no-store' }

/** Health checks reveal nothing, so every listener has them. */
export const PROBES: ReadonlySet<string> = new Set(['/_health', '/_ready'])

export function isAdminRoute(path: string): boolean {
  return Object.hasOwn(METHODS, path) || isConsole(path)
}

/** The health checks alone, for a listener beside `admin.listen`. */
export function probesOnly(pages: AdminRoutes): AdminRoutes {
  return {
    answer: async (c, headers) => (PROBES.has(c.req.path) ? pages.answer(c, headers) : undefined),
    isOpenTo: () => false,
  }
}

/** `/_reload`, `/_diff`, `/_status`, `/_health`, `/_ready` and `/metrics`. */
export function createAdminRoutes(parts: AdminRoutesParts): AdminRoutes {
  const { bind, access, guard, diff, unready, metrics, status, onRefusedCredentials, logins, proxies } = parts
  const isBoundHere = isLocal(bind)
  async function page(c: Context, principal: AdminPrincipal): Promise<HttpResponse> {
    const { path } = c.req
    if (path === '/_reload') return reload(c, parts)
    if (path === '/_diff') {
      const { findings, ...changes } = await diff()
      return HttpResponse.json({ ...changes, findings: findings.map(shownFinding) })
    }
    if (path === '/metrics')
      return new HttpResponse(200, { 'content-type': metrics.contentType }, await metrics.text())
    return HttpResponse.json(await inTurns(await status(principal)), 200, NO_STORE)
  }

  function senderOf(c: Context, headers: RequestHeaders): Sender {
    const { incoming } = nodePair(c)
    const otherEnd = incoming?.socket?.remoteAddress
    const isHere = isBoundHere && (bind.path !== undefined || isLoopback(otherEnd ?? ''))
    return { headers, rawHeaders: incoming?.rawHeaders, version: incoming?.httpVersion, isLocal: isHere }
  }

  /** Checks the credentials, and serves the route or a refusal. */
  async function admit(c: Context, path: string, headers: RequestHeaders): Promise<HttpResponse> {
    const principal = access(senderOf(c, headers))
    const address = clientAddress(otherEndOf(c), headers, proxies)
    const isLogin = headers.authorization !== undefined
    const limited = isLogin && (principal ? logins.succeeded(address, path) : logins.failed(address))
    if (limited) return fault(429, limited.message, limited.headers)
    // Reloads and metrics concern all tenants.
    if (principal?.tenant !== undefined && path !== '/_status')
      return fault(403, `${path} concerns all tenants: it requires \`admin.token\` of the settings`)
    if (principal) return page(c, principal)
    onRefusedCredentials(refusedCredentials(path, headers, address))
    return fault(
      401,
      `${path} requires \`admin.token\` of the settings: send "Authorization: Bearer <token>". Without a token in the settings it only responds on a loopback address or Unix socket (\`admin.listen\`), to requests for a loopback host that no proxy or web page sent`,
      { 'www-authenticate': bearerChallenge(headers.authorization) },
    )
  }

  function foreignOrigin({ origin, host }: RequestHeaders): HttpResponse | undefined {
    if (origin === undefined || guard.allowsOrigin(origin, host)) return undefined
    return fault(
      403,
      `Origin ${origin.slice(0, 100)} is not allowed; allow it by allowedOrigins of the settings`,
    )
  }

  async function answer(c: Context, headers: RequestHeaders): Promise<HttpResponse | undefined> {
    const { path, method } = c.req
    if (isConsole(path)) return foreignOrigin(headers) ?? consolePage(c, headers, senderOf(c, headers), parts)
    const methods = Object.hasOwn(METHODS, path) ? METHODS[path] : undefined
    if (!methods) return undefined
    if (!methods.includes(method))
      return fault(405, `${path} only takes ${methods[0]}`, { allow: methods.join(', ') })
    // People get the console, which asks them to log in.
    if (path === '/_status' && wantsPage(headers.accept))
      return new HttpResponse(303, { location: CONSOLE, ...NO_STORE })
    if (path === '/_health') return HttpResponse.json({ status: 'ok' })
    if (path === '/_ready') {
      const reason = unready()
      return reason === undefined
        ? HttpResponse.json({ status: 'ready' })
        : HttpResponse.json({ status: 'unready', reason }, 503, NO_STORE)
    }
    return foreignOrigin(headers) ?? admit(c, path, headers)
  }

  return {
    answer,
    // Tokens are checked only where failed logins are counted.
    isOpenTo: (c, headers) =>
      headers.authorization === undefined && access(senderOf(c, headers)) !== undefined,
  }
}

async function reload(c: Context, { reloads, served }: AdminRoutesParts): Promise<HttpResponse> {
  const asked = await nameOf(c)
  if ('refused' in asked) return asked.refused
  const { name } = asked
  const result = await reloads.request('api', name).catch(tableRefused)
  if (result instanceof TableRefused)
    return fault(503, `The current configurations stay in service: ${result.message}`)
  const { added, changed, removed, refused, generation, findings } = result
  const live = name === undefined ? [] : served()
  // An earlier reload may have removed it.
  const gone = [...reloads.history().flatMap((past) => past.removed), ...refused]
  if (name !== undefined && named(name, [...live, ...gone.map((id) => identityOf(id))]).length === 0) {
    const close = nearest(
      name,
      live.map((one) => qualifiedName(one)),
    )
    const hint = close ? `: did you mean ${close}?` : ''
    return fault(404, `No configuration is named ${JSON.stringify(name.slice(0, 100))}${hint}`)
  }
  const body = { generation, added, changed, removed, refused, findings: findings.map(shownFinding) }
  return HttpResponse.json(body, refused.length || hasErrors(findings) ? 422 : 200)
}

/** @throws every other error */
function tableRefused(error: unknown): TableRefused {
  if (error instanceof TableRefused) return error
  throw error
}

function fault(status: number, message: string, headers?: ResponseHeaders): HttpResponse {
  return HttpResponse.json({ error: status, message }, status, headers)
}

const BODY_FORM = 'The body must be empty to reload everything, or {"name": "…"} to reload one configuration'

async function nameOf(c: Context): Promise<{ name: string | undefined } | { refused: HttpResponse }> {
  const reservation = memory.reserve()
  const body = await readBody(c, 4096, reservation)
  reservation.free()
  if ('failure' in body) return { refused: fault(body.failure === 'too-large' ? 413 : 400, BODY_FORM) }
  if (body.text.trim() === '') return { name: undefined }
  try {
    const value = JSON.parse(body.text)
    const only = isObject(value) && Object.keys(value).join() === 'name' ? value.name : undefined
    if (typeof only === 'string') return { name: only }
  } catch {
    // Answered below.
  }
  return { refused: fault(400, BODY_FORM) }
}
