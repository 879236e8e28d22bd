import { hash } from 'node:crypto'
import { isObject, type JsonObject } from '../json/index.ts'
import {
  type Attributes,
  readContext,
  type Span,
  type TraceContext,
  type Tracer,
} from '../telemetry/trace.ts'
import type { Accounting } from './call.ts'
import type { Exchange } from './http.ts'
import { metaOf, omit, type Request, type RequestId, type Revision } from './protocol.ts'

/** What spans say of requests: the semantic conventions of MCP (semantic-conventions-genai, docs/gen-ai/mcp.md). */

/** Characters of what clients and servers choose. */
const MAX_TEXT = 200

export type Facts = Record<string, string>

/** What a span says of a request, whoever sends it. Never its arguments. */
export function spanFacts({ id, method, params }: Pick<Request, 'method' | 'params'> & { id?: RequestId }): {
  name: string
  own: Facts
} {
  const shown = method.slice(0, MAX_TEXT)
  const own: Facts = { 'mcp.method.name': shown }
  if (id !== undefined) own['jsonrpc.request.id'] = String(id)
  if (typeof params.uri === 'string') own['mcp.resource.uri'] = shownUri(params.uri).slice(0, MAX_TEXT)
  const target = typeof params.name === 'string' ? params.name.slice(0, MAX_TEXT) : undefined
  if (target === undefined || (method !== 'tools/call' && method !== 'prompts/get'))
    return { name: shown, own }
  if (method === 'prompts/get') own['gen_ai.prompt.name'] = target
  else {
    own['gen_ai.tool.name'] = target
    own['gen_ai.operation.name'] = 'execute_tool'
  }
  return { name: `${shown} ${target}`, own }
}

export interface ServedRequest {
  request: Request
  exchange: Exchange
  /** Absent: it is not agreed on yet. */
  revision?: Revision
  account: Accounting
  sessionId: string | undefined
}

/** Begins the span of a client's request: what `_meta` names is its parent, and the context of HTTP is linked. */
export function serverSpan(tracer: Tracer, { request, exchange, revision, ...of }: ServedRequest): Span {
  const { account, sessionId } = of
  exchange.unserved?.serves(request)
  const { name, own } = spanFacts(request)
  if (sessionId !== undefined) own['mcp.session.id'] = sessionName(sessionId)
  const { address } = exchange
  if (address !== undefined) own['client.address'] = address
  const inMeta = readContext(metaOf(request.params))
  const inHttp = readContext(exchange.headers)
  const isOther = inMeta && inHttp?.traceparent !== inMeta.traceparent
  const start = { name, own, shared: servedAs(account, revision, exchange.isLine) }
  return tracer.server(start, inMeta ?? inHttp, isOther ? inHttp : undefined)
}

const served = new WeakMap<Accounting, Map<string, Attributes>>()
const OVER_HTTP = { 'network.transport': 'tcp', 'network.protocol.name': 'http' }
const OVER_STDIO = { 'network.transport': 'pipe' }

/** What spans say of all requests of a revision at a prefix. @param revision undefined: it is not known */
export function servedAs(account: Accounting, revision: Revision | undefined, isLine = false): Attributes {
  const known = served.get(account) ?? new Map<string, Attributes>()
  const key = `${revision} ${isLine}`
  let attributes = known.get(key)
  if (!attributes) {
    attributes = {
      ...(revision !== undefined && { 'mcp.protocol.version': revision }),
      ...(isLine ? OVER_STDIO : OVER_HTTP),
      'plantgw.tenant': account.tenant,
      'plantgw.prefix': account.prefix,
    }
    served.set(account, known.set(key, attributes))
  }
  return attributes
}

/** Parameters with another context in `_meta`, in place of the one that came. */
export function tracedParams(params: JsonObject, trace: TraceContext): JsonObject {
  const { _meta = {} } = params
  // What is not valid is refused by whom it is for.
  return isObject(_meta) ? { ...params, _meta: { ...omit(_meta, 'tracestate'), ...trace } } : params
}

/** A session as logs name it: its id would open it. */
export function sessionName(id: string): string {
  return hash('sha256', id, 'hex').slice(0, 16)
}

/** The query of a URI holds arguments, and what stands before `@` credentials. */
export function shownUri(uri: string): string {
  return uri.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//')
}
