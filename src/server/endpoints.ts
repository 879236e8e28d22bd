import type { Route, Table } from '../build/types.ts'
import {
  type Backend,
  type Hub,
  type Endpoint as McpEndpoint,
  methodNotAllowed,
  serveMcp,
  serveMessage,
  serveSse,
} from '../mcp/index.ts'
import type { HttpExchange } from './exchange.ts'

/** One of the paths that a prefix has. */
export interface Endpoint {
  /** Methods, for `Allow`. */
  allow: string
  /** Whether everyone may read it, also where callers have to be known. */
  open?: boolean
  serve(exchange: HttpExchange, hub: Hub): Response | Promise<Response>
}

/** The endpoint at `{prefix}/mcp` and so on, by the last segment of the path. */
const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  mcp: {
    allow: 'POST, GET, DELETE, OPTIONS',
    serve: (exchange, hub) => serveMcp(exchange, facing(exchange, hub)),
  },
  sse: {
    allow: 'GET, OPTIONS',
    serve: (exchange, hub) =>
      serveSse(exchange, facing(exchange, hub), `${exchange.route.ssePrefix}/message`),
  },
  message: {
    allow: 'POST, OPTIONS',
    serve: (exchange, hub) => serveMessage(exchange, facing(exchange, hub)),
  },
}

/** What the front needs of a route. */
function facing({ route, caller }: HttpExchange, hub: Hub): McpEndpoint {
  const { prefix, backend, account } = route
  return { prefix, hub, caller, backend: backend as Backend, account }
}

/** A document about a prefix, at `/.well-known/{name}{prefix}/mcp` (RFC 8615; RFC 9728, 3.1). */
function document(text: string): Endpoint {
  return {
    allow: 'GET, HEAD, OPTIONS',
    open: true,
    serve(exchange) {
      if (exchange.method !== 'GET' && exchange.method !== 'HEAD') return methodNotAllowed(exchange, 'GET')
      const headers = { 'content-type': 'application/json', ...exchange.replyHeaders }
      return new Response(text, { headers })
    },
  }
}

const WELL_KNOWN = '/.well-known/'

/** What a path is an endpoint of. */
export function findEndpoint(table: Table, path: string): { route: Route; endpoint: Endpoint } | undefined {
  const slash = path.lastIndexOf('/')
  const name = path.slice(slash + 1)
  const endpoint = Object.hasOwn(ENDPOINTS, name) ? ENDPOINTS[name] : undefined
  if (!endpoint) return undefined
  const prefix = path.slice(0, slash)
  const route = (name === 'mcp' ? table.routes : table.sseRoutes).get(prefix)
  if (route) return { route, endpoint }
  return name === 'mcp' && path.startsWith(WELL_KNOWN) ? findDocument(table, prefix) : undefined
}

function findDocument(table: Table, path: string): ReturnType<typeof findEndpoint> {
  const end = path.indexOf('/', WELL_KNOWN.length)
  const name = path.slice(WELL_KNOWN.length, end < 0 ? undefined : end)
  const route = table.routes.get(end < 0 ? '' : path.slice(end))
  const text = route?.documents?.get(name)
  return text === undefined ? undefined : { route: route as Route, endpoint: document(text) }
}
