import { hash } from 'node:crypto'
import { isObject, type JsonObject } from '../json/index.ts'
import {
  type Attributes,
  readContext,
  type Span,
  type TraceContext,
  type Tracer,
} from '../telemetry/trace.ts'
import { metaOf, omit, type Request, type RequestId, type Revision } from './protocol.ts'

/** Span attributes of requests, by the semantic conventions of MCP (semantic-conventions-genai, docs/gen-ai/mcp.md). */

/** Maximum characters of values chosen by clients and servers. */
const MAX_TEXT = 200

type Facts = Record<string, string | number>

export interface SpanFacts {
  name: string
  attributes: Facts
}

/** Methods whose spans name their target. */
const NAMED = {
  'tools/call': (name: string) => ({ 'gen_ai.tool.name': name, 'gen_ai.operation.name': 'execute_tool' }),
  'prompts/get': (name: string) => ({ 'gen_ai.prompt.name': name }),
} as const

/**
 * Span name and attributes of a request in either direction; never its arguments.
 * @param shared attributes common to many requests
 */
export function spanFacts(
  { id, method, params }: Pick<Request, 'method' | 'params'> & { id?: RequestId },
  shared: Attributes,
): SpanFacts {
  const attributes: Facts = { ...shared, 'mcp.method.name': method.slice(0, MAX_TEXT) }
  if (id !== undefined) attributes['jsonrpc.request.id'] = String(id)
  if (typeof params.uri === 'string') attributes['mcp.resource.uri'] = shownUri(params.uri).slice(0, MAX_TEXT)
  if ((method === 'tools/call' || method === 'prompts/get') && typeof params.name === 'string') {
    const target = params.name.slice(0, MAX_TEXT)
    return { name: `${method} ${target}`, attributes: { ...attributes, ...NAMED[method](target) } }
  }
  return { name: method.slice(0, MAX_TEXT), attributes }
}

/** The route that serves a request, and its tenant. */
export interface RouteFacts {
  readonly tenant: string
  readonly prefix: string
}

interface RequestFacts {
  readonly isLine?: true
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly address?: string | undefined
  readonly unserved?: { serves(request: Request): void } | undefined
}

export interface ServedRequest {
  request: Request
  context: RequestFacts
  /** Absent: not negotiated yet. */
  revision?: Revision
  callLog: RouteFacts
  sessionId: string | undefined
}

/** Begins the span of a client's request. Its parent is the context of `_meta`, else of HTTP; both: HTTP's is linked. */
export function serverSpan(
  tracer: Tracer,
  { request, context, revision, callLog, sessionId }: ServedRequest,
): Span {
  context.unserved?.serves(request)
  const { name, attributes } = spanFacts(request, servedAs(callLog, revision, context.isLine))
  if (sessionId !== undefined) attributes['mcp.session.id'] = sessionName(sessionId)
  const { address } = context
  if (address !== undefined) attributes['client.address'] = address
  const inMeta = readContext(metaOf(request.params))
  const inHttp = readContext(context.headers)
  const isOther = inMeta && inHttp?.traceparent !== inMeta.traceparent
  return tracer.server({ name, attributes }, inMeta ?? inHttp, isOther ? inHttp : undefined)
}

/** Attributes of all requests of a revision at a prefix. @param revision undefined: unknown */
export function servedAs(callLog: RouteFacts, revision: Revision | undefined, isLine = false): Attributes {
  return {
    ...(revision !== undefined && { 'mcp.protocol.version': revision }),
    'network.transport': isLine ? 'pipe' : 'tcp',
    ...(!isLine && { 'network.protocol.name': 'http' }),
    'plantgw.tenant': callLog.tenant,
    'plantgw.prefix': callLog.prefix,
  }
}

/** Parameters with the trace context in `_meta` replaced. */
export function tracedParams(params: JsonObject, trace: TraceContext): JsonObject {
  const { _meta = {} } = params
  // An invalid `_meta` is refused by its receiver.
  return isObject(_meta) ? { ...params, _meta: { ...omit(_meta, 'tracestate'), ...trace } } : params
}

/** Name of a session in logs; its id would grant access. */
export function sessionName(id: string): string {
  return hash('sha256', id, 'hex').slice(0, 16)
}

/** A URI without query and credentials, which are sensitive. */
export function shownUri(uri: string): string {
  return uri.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//')
}
