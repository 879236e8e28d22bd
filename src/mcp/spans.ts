import { hash } from 'node:crypto'
import { isObject, type JsonObject } from '../json/index.ts'
import {
  type Attributes,
  readContext,
  type Span,
  type SpanTemplate,
  type TraceContext,
  type Tracer,
} from '../telemetry/trace.ts'
import type { Accounting } from './call.ts'
import type { RequestContext } from './http.ts'
import { metaOf, omit, type Request, type RequestId, type Revision } from './protocol.ts'

/** Span attributes of requests, by the semantic conventions of MCP (semantic-conventions-genai, docs/gen-ai/mcp.md). */

/** Maximum characters of values chosen by clients and servers. */
const MAX_TEXT = 200

export type Facts = Record<string, string>

/** Methods whose spans name their target. */
const NAMED = {
  'tools/call': (name: string) => ({ 'gen_ai.tool.name': name, 'gen_ai.operation.name': 'execute_tool' }),
  'prompts/get': (name: string) => ({ 'gen_ai.prompt.name': name }),
} as const

/**
 * Span attributes of a request in either direction; never its arguments.
 * @param shared attributes common to many requests
 */
export function spanFacts(
  { id, method, params }: Pick<Request, 'method' | 'params'> & { id?: RequestId },
  shared: Attributes,
): { template: SpanTemplate; own: Facts } {
  const own: Facts = {}
  if (id !== undefined) own['jsonrpc.request.id'] = String(id)
  if (typeof params.uri === 'string') own['mcp.resource.uri'] = shownUri(params.uri).slice(0, MAX_TEXT)
  if ((method === 'tools/call' || method === 'prompts/get') && typeof params.name === 'string') {
    const target = params.name.slice(0, MAX_TEXT)
    const name = `${method} ${target}`
    const facts = () => ({ 'mcp.method.name': method, ...NAMED[method](target) })
    return { template: templateOf(shared, name, name, facts), own }
  }
  const shown = method.slice(0, MAX_TEXT)
  // The space keeps a method that a client names like a tool's span apart from it.
  return { template: templateOf(shared, ` ${shown}`, shown, () => ({ 'mcp.method.name': shown })), own }
}

/** Clients and servers choose names, so only this many are kept for each set of shared attributes. */
const MAX_TEMPLATES = 1_000
const templates = new WeakMap<Attributes, Map<string, SpanTemplate>>()

/** @param key distinguishes templates with the same shared attributes */
export function templateOf(
  shared: Attributes,
  key: string,
  name: string,
  facts: () => Attributes,
): SpanTemplate {
  const known = templates.get(shared) ?? new Map<string, SpanTemplate>()
  let template = known.get(key)
  if (!template) {
    template = { name, attributes: { ...shared, ...facts() } }
    templates.set(shared, known.set(key, template))
    if (known.size > MAX_TEMPLATES) known.delete(known.keys().next().value as string)
  }
  return template
}

export interface ServedRequest {
  request: Request
  context: RequestContext
  /** Absent: not negotiated yet. */
  revision?: Revision
  account: Accounting
  sessionId: string | undefined
}

/** Begins the span of a client's request: the context in `_meta` is its parent, that of HTTP is linked. */
export function serverSpan(
  tracer: Tracer,
  { request, context, revision, account, sessionId }: ServedRequest,
): Span {
  context.unserved?.serves(request)
  const { template, own } = spanFacts(request, servedAs(account, revision, context.isLine))
  if (sessionId !== undefined) own['mcp.session.id'] = sessionName(sessionId)
  const { address } = context
  if (address !== undefined) own['client.address'] = address
  const inMeta = readContext(metaOf(request.params))
  const inHttp = readContext(context.headers)
  const isOther = inMeta && inHttp?.traceparent !== inMeta.traceparent
  return tracer.server({ template, own }, inMeta ?? inHttp, isOther ? inHttp : undefined)
}

const served = new WeakMap<Accounting, Map<string, Attributes>>()
const OVER_HTTP = { 'network.transport': 'tcp', 'network.protocol.name': 'http' }
const OVER_STDIO = { 'network.transport': 'pipe' }

/** Attributes of all requests of a revision at a prefix. @param revision undefined: unknown */
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
