import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Context, Hono } from 'hono'
import { bearerChallenge } from '../access/bearer.ts'
import { peerOf } from '../access/peer.ts'
import { type Quota, sharerOf } from '../access/quota.ts'
import type { HostGuard } from '../access/rebinding.ts'
import { Stay } from '../access/stay.ts'
import type { Route, Table } from '../build/table.ts'
import type { Cluster } from '../cluster/index.ts'
import {
  departureOf,
  type Exchange,
  type Hub,
  headersOf,
  INVALID_REQUEST,
  onGone,
  type RequestHeaders,
  type ResponseHeaders,
  readBody,
  rpcError,
  type Service,
  serveMcp,
  serveMessage,
  serveSse,
} from '../mcp/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import type { OwnPages } from './own-pages.ts'
import { type OnForward, proofOf, replicasOf } from './replicas.ts'

export interface AppParts {
  /** The table of the moment; a request keeps the one it began with. */
  table: () => Table
  hub: Hub
  /** Of calls under way; absent: they are not counted. */
  calls?: Quota
  guard: HostGuard
  log: Logger
  /** The gateway's own paths. */
  ownPages?: OwnPages
  /** The plant store and the paths that are its own. */
  plants?: { app: Hono; owns: (path: string) => boolean }
  /** Absent where the gateway is one process. */
  cluster?: Cluster
  onForward?: OnForward
}

type Endpoint = 'mcp' | 'sse' | 'message'

/** The gateway's HTTP face: path → route → access → the wire. */
export function createApp({
  table,
  hub,
  calls,
  guard,
  log,
  plants,
  ownPages,
  cluster,
  onForward = () => {},
}: AppParts): Hono {
  const app = new Hono()

  app.all('*', (c) => {
    const headers = headersOf(c)
    const { path } = c.req
    // Two Host headers are an attack on whoever reads the other one (RFC 9112, 3.2).
    if (hasTwoHosts(c))
      return c.json({ error: 400, message: 'The request has more than one Host header' }, 400)
    const store = plants?.owns(path) ? plants.app : undefined
    if (!guard.allowsHost(headers.host ?? new URL(c.req.url).host))
      return forbidden(c, headers, 'Host', store !== undefined)
    // No route's endpoint looks like them, and calls need not look them up.
    if (path.startsWith('/_') || path === '/metrics') {
      const answered = ownPages?.(c, headers)
      if (answered) return answered
    }
    if (store) {
      const { origin } = headers
      if (origin !== undefined && !guard.allowsOrigin(origin, headers.host))
        return forbidden(c, headers, 'Origin', true)
      return store.fetch(c.req.raw, c.env)
    }
    const found = find(table(), path)
    if (!found) return notFound(c, path)
    return serve(c, headers, found.route, found.endpoint)
  })

  app.onError((error, c) => {
    unexpected(`${c.req.method} ${c.req.path.slice(0, 200)}`)(error)
    return c.json({ error: 'internal error' }, 500)
  })

  function serve(c: Context, headers: RequestHeaders, route: Route, endpoint: Endpoint) {
    const { origin } = headers
    const { method } = c.req
    const cors = origin !== undefined && route.cors?.allows(origin) ? route.cors : undefined
    if (origin !== undefined && !cors && !guard.allowsOrigin(origin, headers.host))
      return forbidden(c, headers, 'Origin', false)
    // A preflight carries no credentials, so it comes before authentication (Fetch, 3.2.2).
    if (method === 'OPTIONS') return options(headers, route, endpoint)
    const requestId = requestIdOf(headers['x-request-id'])
    const proof = proofOf(c, headers, cluster)
    const replyHeaders: ResponseHeaders = {
      'x-request-id': requestId,
      ...proof,
      ...(cors ? cors.headers(origin as string) : route.cors?.vary),
    }
    const { prefix } = route
    const caller = route.authenticate?.(headers.authorization)?.caller
    const { incoming, outgoing } = (c.env as NodePair | undefined) ?? {}
    const stay = new Stay(
      prefix,
      sharerOf(prefix, caller, incoming?.socket?.remoteAddress),
      proof ? undefined : calls,
    )
    outgoing?.once?.('close', () => stay.end())
    const bare: Exchange = {
      method,
      headers,
      query: () => c.req.query(),
      replyHeaders,
      requestId,
      maxBody: route.maxRequestSize,
      signal: () => departureOf(c),
      onGone: (listener) => onGone(c, listener),
      body: () => readBody(c, route.maxRequestSize, stay.hold),
      stay,
      peer: peerOf(proof ? undefined : incoming?.socket, headers, stay),
    }
    const exchange = cluster ? { ...bare, replicas: others(c, cluster, bare, prefix, caller, proof) } : bare
    if (route.authenticate && caller === undefined) {
      const message = 'A known bearer token is required: send the header "Authorization: Bearer <token>"'
      const challenge = { 'www-authenticate': bearerChallenge(headers.authorization) }
      return rpcError(exchange, 401, { code: INVALID_REQUEST, message }, null, challenge)
    }
    const answered = respond(exchange, route, endpoint, caller)
    const over = () => stay.end()
    // Nothing tells when the answer is out.
    if (!outgoing?.once)
      Promise.resolve(answered)
        .finally(over)
        .catch(() => {})
    return answered
  }

  function respond(exchange: Exchange, route: Route, endpoint: Endpoint, caller: string | undefined) {
    const door = { prefix: route.prefix, hub, caller }
    const messages = `${route.ssePrefix}/message`
    if (route.proxy) {
      const { proxy } = route.proxy
      if (endpoint === 'mcp') return proxy.serveMcp(exchange, door)
      if (endpoint === 'message') return proxy.serveMessage(exchange, door)
      return proxy.serveSse(exchange, door, messages)
    }
    const at = { ...door, service: route.service as Service }
    if (endpoint === 'mcp') return serveMcp(exchange, at)
    if (endpoint === 'message') return serveMessage(exchange, at)
    return serveSse(exchange, at, messages)
  }

  function others(
    c: Context,
    cluster: Cluster,
    exchange: Exchange,
    prefix: string,
    caller: string | undefined,
    proof: object | undefined,
  ) {
    const hopped = proof !== undefined
    return replicasOf(c, cluster, { exchange, bound: { prefix, caller }, hub, hopped, log, onForward })
  }

  return app
}

/** Node's own request and response, where there are any. */
interface NodePair {
  incoming?: IncomingMessage
  outgoing?: ServerResponse
}

function hasTwoHosts(c: Context): boolean {
  const names = (c.env as NodePair | undefined)?.incoming?.rawHeaders
  if (!names) return false
  let hosts = 0
  for (let i = 0; i < names.length; i += 2) {
    const name = names[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}

/** The route that a path is an endpoint of. */
function find(table: Table, path: string): { route: Route; endpoint: Endpoint } | undefined {
  const slash = path.lastIndexOf('/')
  const endpoint = path.slice(slash + 1)
  if (endpoint !== 'mcp' && endpoint !== 'sse' && endpoint !== 'message') return undefined
  const prefix = path.slice(0, slash)
  const route = (endpoint === 'mcp' ? table.routes : table.sseRoutes).get(prefix)
  return route && { route, endpoint }
}

const METHODS = { mcp: 'POST, GET, DELETE, OPTIONS', sse: 'GET, OPTIONS', message: 'POST, OPTIONS' }

function options({ origin }: RequestHeaders, { cors }: Route, endpoint: Endpoint): Response {
  const allow = { allow: METHODS[endpoint] }
  const headers =
    origin !== undefined && cors?.allows(origin)
      ? { ...allow, ...cors.preflight(origin) }
      : { ...allow, ...cors?.vary }
  return new Response(null, { status: 204, headers })
}

/** The plant store's errors have a body of their own; those of the rest are JSON-RPC. */
function forbidden(
  c: Context,
  headers: RequestHeaders,
  name: 'Host' | 'Origin',
  ofPlants: boolean,
): Response {
  const value = ((name === 'Host' ? headers.host : headers.origin) ?? '').slice(0, 100)
  const setting = name === 'Host' ? 'allowedHosts' : 'allowedOrigins'
  const cors = name === 'Origin' && !ofPlants ? " or the router's cors" : ''
  const message = `${name} ${value} is not allowed; allow it by ${setting} of the settings${cors}`
  if (name === 'Origin') c.header('Vary', 'Origin')
  if (ofPlants) return c.json({ error: 403, message }, 403)
  return c.json({ jsonrpc: '2.0', error: { code: INVALID_REQUEST, message } }, 403)
}

function notFound(c: Context, path: string): Response {
  const message = `Nothing is served at ${path.slice(0, 200)}: an endpoint is a router's prefix followed by /mcp, /sse or /message`
  return c.json({ error: 404, message }, 404)
}

/** The caller's `X-Request-Id` when it is a sane one, else a new one. */
function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.:/+=-]{1,128}$/.test(given)
    ? given
    : `${PROCESS}-${(++requests).toString(36)}`
}

/** Request ids are this process's own name and a counter. */
const PROCESS = randomBytes(6).toString('base64url')
let requests = 0
