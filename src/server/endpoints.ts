import { HttpResponse } from '../access/http-response.ts'
import type { PublicDocument, Route, Table } from '../build/types.ts'
import { endpointPath } from '../config/index.ts'
import {
  type Backend,
  type Endpoint as McpEndpoint,
  methodNotAllowed,
  type SessionRegistry,
  serveMcp,
  serveMessage,
  serveSse,
} from '../mcp/index.ts'
import type { Endpoint, HttpContext } from './http-context.ts'

/** The endpoint at `{prefix}/mcp` and so on, by the last segment of the path. */
const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  mcp: {
    allow: 'POST, GET, DELETE, OPTIONS',
    serve: async (context, registry) => serveMcp(context, mcpEndpoint(context.route, registry)),
  },
  sse: {
    allow: 'GET, OPTIONS',
    serve: (context, registry) =>
      serveSse(context, mcpEndpoint(context.route, registry), messagesAt(context)),
  },
  message: {
    allow: 'POST, OPTIONS',
    serve: (context, registry) => serveMessage(context, mcpEndpoint(context.route, registry)),
  },
}

/** The path where the client of a stream posts messages. */
function messagesAt({ outerPrefix, route, path }: HttpContext): string {
  const { ssePrefix, tellsRelative } = route
  if (outerPrefix !== '' || !tellsRelative) return outerPrefix + endpointPath(ssePrefix, 'message')
  return path.endsWith('/') ? '../message' : 'message'
}

export function mcpEndpoint(
  { prefix, backend, callLog, pipeline }: Route,
  registry: SessionRegistry,
): McpEndpoint {
  return { prefix, registry, backend: backend as Backend, callLog, pipeline }
}

/**
 * A document about an endpoint, at `/.well-known/{name}{prefix}/mcp` (RFC 8615; RFC 9728, 3.1) or
 * `{prefix}/mcp/server-card` (SEP-2127).
 */
function document({ text, type, etag, cacheControl }: PublicDocument): Endpoint {
  return {
    allow: 'GET, HEAD, OPTIONS',
    open: true,
    async serve(context) {
      if (context.method !== 'GET' && context.method !== 'HEAD')
        return methodNotAllowed(context.method, 'GET, HEAD')
      const any = { 'access-control-allow-origin': '*' }
      const cached = {
        ...(etag !== undefined && { etag, 'access-control-expose-headers': 'ETag' }),
        ...(cacheControl !== undefined && { 'cache-control': cacheControl }),
      }
      const headers = { ...any, ...cached }
      const known = context.headers['if-none-match']?.split(',').map((one) => one.trim().replace(/^W\//, ''))
      if (etag !== undefined && (known?.includes(etag) || known?.includes('*')))
        return new HttpResponse(304, headers)
      return new HttpResponse(200, { 'content-type': type, ...headers }, text)
    },
  }
}

const WELL_KNOWN = '/.well-known/'

interface Found {
  route: Route
  endpoint: Endpoint
}

/** The endpoint at a path; a trailing slash is ignored. */
export function findEndpoint(table: Table, given: string): Found | undefined {
  const path = given.endsWith('/') ? given.slice(0, -1) : given
  const slash = path.lastIndexOf('/')
  const name = path.slice(slash + 1)
  const prefix = path.slice(0, slash)
  if (name === 'server-card') return documentOf(table.routes.get(prefix.replace(/\/mcp$/, '')), path)
  const endpoint = Object.hasOwn(ENDPOINTS, name) ? ENDPOINTS[name] : undefined
  if (!endpoint) return undefined
  const routes = name === 'mcp' ? table.routes : table.sseRoutes
  const route = routes.get(prefix)
  if (route) return { route, endpoint }
  if (!path.startsWith(WELL_KNOWN)) return undefined
  const end = prefix.indexOf('/', WELL_KNOWN.length)
  return documentOf(routes.get(end < 0 ? '' : prefix.slice(end)), path)
}

function documentOf(route: Route | undefined, path: string): Found | undefined {
  const found = route?.documents?.get(path)
  return route && found && { route, endpoint: document(found) }
}
