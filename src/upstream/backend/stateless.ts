import type { Peer } from '../../access/stay.ts'
import { type JsonObject, stringify } from '../../json/index.ts'
import {
  type AnswerForm,
  Cancellation,
  type CancelSignal,
  checkParamHeaders,
  checkStateless,
  type Door,
  type Exchange,
  errorText,
  Fault,
  httpStatusOf,
  INTERNAL_ERROR,
  isObject,
  type Listener,
  METHOD_NOT_FOUND,
  mismatch,
  openReply,
  type ParamHeader,
  type RequestHeaders,
  rpcError,
  UNSUPPORTED_PROTOCOL_VERSION,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { ACKNOWLEDGED, grantedKinds } from '../bridge/listen.ts'
import { metaOf, PROTOCOL_VERSION } from '../bridge/meta.ts'
import type { Resolved } from '../definition.ts'
import type { Request } from '../rpc/link.ts'
import type { ToolFilter } from '../tools.ts'
import { FAILED } from '../transport/channel.ts'

/** Requests of 2026-07-28, each of which stands alone, to a server of whatever revision. */
export interface Stateless {
  /** Answers with the JSON-RPC response to the request; undefined when it was cancelled. */
  request(call: StatelessCall): Promise<JsonObject | Fault | undefined>
  /** The revisions that its clients may use. */
  versions(resolved: Resolved): Promise<string[]>
  /** The arguments of a tool that clients mirror into headers. */
  paramHeaders(tool: string, call: StatelessCall): readonly ParamHeader[] | Promise<readonly ParamHeader[]>
}

export interface StatelessCall {
  readonly message: Request
  /** Of the client, names in lower case. */
  readonly headers: RequestHeaders
  /** Who calls, once there is authentication. */
  readonly caller: string | undefined
  /** Whose share of the limits the call uses; undefined: the gateway's own user. */
  readonly sharer?: string
  /** Who calls where no caller is known; undefined: the gateway's own user. */
  readonly peer?: Peer
  readonly resolved: Resolved
  /** The client has a session, whose revision the answer must be of. */
  readonly ofSession?: boolean
  /** Takes what comes before the answer. */
  onMessage(raw: JsonObject): void
  /** Aborted when the client goes away, which cancels the request. */
  readonly signal: CancelSignal
}

export interface StatelessOptions {
  filter: ToolFilter | undefined
  /** Takes a request as under way; what is returned is run once it is over. */
  begin(exchange: Exchange, request: Request): (failure?: string) => void
}

/** HTTP statuses of errors (2026-07-28, Streamable HTTP); others come with 200, as results do. */
const STATUS: Record<number, number> = {
  [METHOD_NOT_FOUND]: 404,
  [-32020]: 400,
  [-32021]: 400,
  [-32022]: 400,
}

/** Answers one request of a stateless client by messages, with all checks that HTTP adds to them. */
export async function serveStateless(
  exchange: Exchange,
  request: Request,
  { hub, caller, prefix }: Door,
  form: AnswerForm,
  resolved: Resolved,
  server: Stateless,
  { filter, begin }: StatelessOptions,
): Promise<Response> {
  const { id, method, params } = request
  const refused = checkStateless(exchange, request)
  if (refused?.code === UNSUPPORTED_PROTOCOL_VERSION) {
    const requested = String(metaOf(params)[PROTOCOL_VERSION])
    const supported = await server.versions(resolved)
    if (!supported.includes(requested))
      return rpcError(exchange, 400, { ...refused, data: { supported, requested } }, id)
  } else if (refused) return rpcError(exchange, 400, refused, id)
  const message = filter ? filter.request(request) : request
  if ('code' in message) return rpcError(exchange, 200, message, id)
  // A subscription has no end of its own.
  if (method === 'subscriptions/listen') exchange.stay.uncount()
  const abort = new Cancellation()
  const reply = openReply(exchange, form, () => {
    hub.drop(reply)
    abort.abort()
  })
  hub.keep(reply)
  const call: StatelessCall = {
    message,
    headers: exchange.headers,
    caller,
    sharer: exchange.stay.sharer,
    peer: exchange.peer,
    resolved,
    signal: abort,
    onMessage(raw) {
      reply.message(stringify(raw))
      if (raw.method === ACKNOWLEDGED && !listener) {
        listener = { prefix, id, kinds: grantedKinds(raw), stream: { send: reply.message, close } }
        hub.listen(listener)
      }
    },
  }
  /** A subscription, of which the gateway tells and which it ends as those of its own tools. */
  let listener: Listener | undefined
  const close = () => {
    reply.end()
    abort.abort()
  }
  const finish = begin(exchange, request)
  const ended = (failure?: string) => {
    hub.drop(reply)
    if (listener) hub.unlisten(listener)
    finish(failure)
  }
  const failed = unexpected(method, () => {
    reply.answer(errorText(id, { code: INTERNAL_ERROR, message: FAILED }), 500)
    ended(FAILED)
  })
  answer(call).then(ended).catch(failed)
  return reply.response

  async function answer(call: StatelessCall): Promise<string | undefined> {
    if (method === 'tools/call' && typeof call.message.params.name === 'string') {
      const listed = server.paramHeaders(call.message.params.name, call)
      const declared = listed instanceof Promise ? await listed : listed
      const fault = checkParamHeaders(exchange.headers, declared, params.arguments)
      if (fault !== undefined) {
        reply.answer(errorText(id, mismatch(fault)), 400)
        return fault
      }
    }
    const raw = await server.request(call)
    if (!raw) {
      reply.end()
      return 'cancelled'
    }
    if (raw instanceof Fault) {
      reply.answer(errorText(id, { code: INTERNAL_ERROR, message: raw.message }), httpStatusOf(raw))
      return raw.message
    }
    const { error } = raw
    const status = isObject(error) ? STATUS[error.code as number] : undefined
    const text = stringify(raw)
    reply.answer(filter ? filter.response(method, { kind: 'response', id, raw }, text) : text, status)
    return undefined
  }
}
