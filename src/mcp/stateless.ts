import { type JsonObject, stringify } from '../json/index.ts'
import { type AnswerForm, type Exchange, eventStream, json, reply, rpcError } from './http.ts'
import { type Hub, type Listener, type ListKind, taggedNotification } from './hub.ts'
import {
  errorText,
  HEADER_MISMATCH,
  INVALID_PARAMS,
  isObject,
  METHOD_NOT_FOUND,
  type Message,
  type RpcError,
  resultText,
  UNSUPPORTED_PROTOCOL_VERSION,
} from './jsonrpc.ts'
import { checkParamHeaders, checkStandardHeaders } from './mirror.ts'
import { isSessionRevision, isStatelessRevision, REVISIONS, STATELESS_REVISIONS } from './revisions.ts'
import type { Call, Endpoint, Service } from './service.ts'
import { answer } from './session.ts'
import { openStream } from './stream.ts'

/** Revision 2026-07-28: each request stands alone. */

export const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion'
export const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
export const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

type Request = Extract<Message, { kind: 'request' }>

/** Whether a message claims a stateless revision in its body. */
export function claimsRevision(params: unknown): boolean {
  return isObject(params) && isObject(params._meta) && PROTOCOL_VERSION in params._meta
}

/** Answers a request that claims a stateless revision, or whose version header does. */
export async function answerStateless(
  exchange: Exchange,
  request: Request,
  { service, hub, prefix }: Endpoint,
  form: AnswerForm,
): Promise<Response> {
  const { id, method, params } = request
  const refused = checkStateless(exchange, request)
  if (refused) return rpcError(exchange, 400, refused, id)
  if (method === 'server/discover') return reply(exchange, resultText(id, discovery(service)), form)
  if (method === 'subscriptions/listen') return listen(exchange, request, service, hub, prefix)
  const answers = service.methods.get(method)
  if (!answers) {
    const message = `Method not found: ${method}`
    return rpcError(exchange, 404, { code: METHOD_NOT_FOUND, message }, id)
  }
  if (method === 'tools/call' && typeof params.name === 'string') {
    const fault = checkParamHeaders(exchange.headers, service.paramHeaders(params.name), params.arguments)
    if (fault) return rpcError(exchange, 400, mismatch(fault), id)
  }
  const call: Call = {
    revision: STATELESS_REVISIONS[0],
    headers: exchange.headers,
    query: exchange.query,
    message: request.raw,
    signal: exchange.signal(),
    requestId: exchange.requestId,
    hold: exchange.stay.hold,
  }
  const write = (result: string) => complete(result, method, service)
  return reply(exchange, await answer(id, () => answers(params, call), write), form)
}

/**
 * What is wrong with a stateless request, in the order of the specification's precedence: version, `_meta`,
 * mirrored headers.
 */
export function checkStateless({ headers }: Exchange, { method, params }: Request): RpcError | undefined {
  const meta = isObject(params._meta) ? params._meta : {}
  const claimed = meta[PROTOCOL_VERSION]
  const header = headers['mcp-protocol-version']
  if (typeof claimed !== 'string')
    return { code: INVALID_PARAMS, message: `params._meta["${PROTOCOL_VERSION}"] is missing or not a string` }
  if (header === undefined) return mismatch('the MCP-Protocol-Version header is missing')
  if (header !== claimed)
    return mismatch(`MCP-Protocol-Version header value '${header}' does not match body value '${claimed}'`)
  if (!isStatelessRevision(claimed)) return unsupported(claimed)
  if (!isObject(meta[CLIENT_CAPABILITIES]))
    return {
      code: INVALID_PARAMS,
      message: `params._meta["${CLIENT_CAPABILITIES}"] is missing or not an object`,
    }
  const fault = checkStandardHeaders(headers, method, params)
  return fault === undefined ? undefined : mismatch(fault)
}

/** `HeaderMismatchError`, with what does not match as a sentence. */
export function mismatch(fault: string): RpcError {
  return { code: HEADER_MISMATCH, message: `Header mismatch: ${fault}` }
}

/** `UnsupportedProtocolVersionError`. A session revision can't be claimed by a single request. */
export function unsupported(requested: string): RpcError {
  const supported = isSessionRevision(requested) ? STATELESS_REVISIONS : REVISIONS
  return {
    code: UNSUPPORTED_PROTOCOL_VERSION,
    message: `Unsupported protocol version ${requested.slice(0, 40)}; supported: ${supported.join(', ')}`,
    data: { supported: [...supported], requested },
  }
}

/** Milliseconds a client may keep a list; `list_changed` tells it of a change before that. */
const TTL = 60_000
const CACHEABLE = new Set(['server/discover', 'tools/list', 'prompts/list'])

/** The beginning of every result of a service, written once. */
const frames = new WeakMap<Service, string>()

/** Adds what 2026-07-28 wants on every result, without parsing it. */
function complete(result: string, method: string, service: Service): string {
  let frame = frames.get(service)
  if (!frame) {
    frame = `{"resultType":"complete","_meta":{"${SERVER_INFO}":${stringify(service.info)}}`
    frames.set(service, frame)
  }
  const cache = CACHEABLE.has(method) ? `,"ttlMs":${TTL},"cacheScope":"${service.cacheScope}"` : ''
  return `${frame}${cache}${result === '{}' ? '}' : `,${result.slice(1)}`}`
}

function discovery(service: Service): string {
  const { capabilities, instructions } = service
  const body = { supportedVersions: [...REVISIONS], capabilities, ...(instructions && { instructions }) }
  return complete(stringify(body), 'server/discover', service)
}

const KINDS: Record<string, ListKind> = { toolsListChanged: 'tools', promptsListChanged: 'prompts' }

/** Opens a `subscriptions/listen` stream: acknowledged first, everything on it tagged with the request's id. */
function listen(exchange: Exchange, request: Request, service: Service, hub: Hub, prefix: string): Response {
  const { id, params } = request
  if (!isObject(params.notifications)) {
    const message = 'params.notifications must be an object such as {"toolsListChanged": true}'
    return json(exchange, errorText(id, { code: INVALID_PARAMS, message }))
  }
  const granted: JsonObject = {}
  for (const [key, kind] of Object.entries(KINDS))
    if (params.notifications[key] === true && service.capabilities[kind]) granted[key] = true
  exchange.stay.uncount()
  const stream = openStream(exchange, () => {
    hub.unlisten(listener)
    hub.drop(stream)
  })
  const kinds = new Set(Object.keys(granted).map((key) => KINDS[key] as ListKind))
  const listener: Listener = { prefix, id, kinds, stream }
  stream.send(taggedNotification('notifications/subscriptions/acknowledged', id, { notifications: granted }))
  hub.listen(listener)
  hub.keep(stream)
  return eventStream(exchange, stream.body)
}
