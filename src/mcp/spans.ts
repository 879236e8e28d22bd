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
import { metaOf, omit, type Request, type Revision } from './protocol.ts'

/** What spans say of requests: the semantic conventions of MCP (semantic-conventions-genai, docs/gen-ai/mcp.md). */

/** Characters of what clients and servers choose. */
const MAX_TEXT = 200

/** The name and the attributes of a request's span, whoever sends it. Never its arguments. */
export function spanFacts({ id, method, params }: Pick<Request, 'id' | 'method' | 'params'>): {
  name: string
  attributes: Attributes
} {
  const shown = method.slice(0, MAX_TEXT)
  const attributes: Attributes = {
    'mcp.method.name': shown,
    'jsonrpc.request.id': String(id),
  }
  if (typeof params.uri === 'string') attributes['mcp.resource.uri'] = shownUri(params.uri).slice(0, MAX_TEXT)
  const target = typeof params.name === 'string' ? params.name.slice(0, MAX_TEXT) : undefined
  if (target === undefined || (method !== 'tools/call' && method !== 'prompts/get'))
    return { name: shown, attributes }
  if (method === 'prompts/get') attributes['gen_ai.prompt.name'] = target
  else {
    attributes['gen_ai.tool.name'] = target
    attributes['gen_ai.operation.name'] = 'execute_tool'
  }
  return { name: `${shown} ${target}`, attributes }
}

export interface ServedRequest {
  request: Request
  exchange: Exchange
  revision: Revision
  account: Accounting
  sessionId: string | undefined
}

/** Begins the span of a client's request: what `_meta` names is its parent, and the context of HTTP is linked. */
export function serverSpan(tracer: Tracer, { request, exchange, revision, ...of }: ServedRequest): Span {
  const { name, attributes } = spanFacts(request)
  const { account, sessionId } = of
  attributes['mcp.protocol.version'] = revision
  attributes['network.transport'] = 'tcp'
  attributes['network.protocol.name'] = 'http'
  attributes['plantgw.tenant'] = account.tenant
  attributes['plantgw.prefix'] = account.prefix
  if (sessionId !== undefined) attributes['mcp.session.id'] = sessionName(sessionId)
  const { address } = exchange
  if (address !== undefined) attributes['client.address'] = address
  const inMeta = readContext(metaOf(request.params))
  const inHttp = readContext(exchange.headers)
  const isOther = inMeta && inHttp?.traceparent !== inMeta.traceparent
  return tracer.server(name, attributes, inMeta ?? inHttp, isOther ? inHttp : undefined)
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
