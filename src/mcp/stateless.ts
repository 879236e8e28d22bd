import { HttpResponse } from '../access/http-response.ts'
import { isObject } from '../json/index.ts'
import { mayNeedApproval } from './approval.ts'
import type { Endpoint, StatelessServer } from './backend.ts'
import { Call } from './call.ts'
import type { CallEnd, RequestContext } from './context.ts'
import { discover, isDiscovered, listingOf } from './discover.ts'
import { dispatch, failing } from './dispatch.ts'
import { Fault } from './fault.ts'
import { faultResponse, notAcceptable, rpcError, takesEvents } from './http.ts'
import { statelessSource } from './list-source.ts'
import { checkParamHeaders, checkStandardHeaders } from './mirror.ts'
import { refuses } from './permit.ts'
import {
  CLIENT_CAPABILITIES,
  HEADER_MISMATCH,
  INVALID_PARAMS,
  isSessionRevision,
  isStatelessRevision,
  type ListKind,
  METHOD_NOT_FOUND,
  PROTOCOL_VERSION,
  REVISIONS,
  type Request,
  type RpcError,
  STATELESS_REVISIONS,
  UNSUPPORTED_PROTOCOL_VERSION,
} from './protocol.ts'
import type { Kept, Listener, SessionRegistry } from './session-registry.ts'
import { isStatelessApproved, keepsApproval, type Resumed, resumeApproval } from './stateless-approval.ts'
import type { StatelessReply } from './stream.ts'

/** Revision 2026-07-28: stateless requests. */

/** HTTP statuses of errors (2026-07-28, Streamable HTTP); other errors use 200, like results. */
const STATUS: Record<number, number> = {
  [METHOD_NOT_FOUND]: 404,
  [HEADER_MISMATCH]: 400,
  [-32021]: 400,
  [UNSUPPORTED_PROTOCOL_VERSION]: 400,
}

/** The HTTP status of a response with this error. */
export function statusOfError(error: unknown): number | undefined {
  return isObject(error) ? STATUS[error.code as number] : undefined
}

/** Whether a message's body claims a stateless revision. */
export function claimsRevision(params: unknown): boolean {
  return isObject(params) && isObject(params._meta) && PROTOCOL_VERSION in params._meta
}

/**
 * Answers a stateless request, as claimed by its body or its version header.
 * @param makeReply creates the reply that receives the answer
 * @returns what the reply did not send itself
 */
export async function answerStateless<Answer>(
  context: RequestContext,
  given: Request,
  text: string,
  endpoint: Endpoint,
  makeReply: () => StatelessReply<Answer>,
): Promise<HttpResponse | Answer> {
  const { generation } = endpoint.registry
  const resumed = context.approval && (await resumeApproval(context, given, text, endpoint))
  if (resumed instanceof HttpResponse) return resumed
  const { request, answer } = resumed ?? { request: given }
  const { id, method, params } = request
  // Kept results need no server.
  if (context.results?.isAsked(request) && !checkStateless(context, request)) {
    const reply = makeReply()
    context.results.answers(new StatelessCall(context, request, text, endpoint, reply, generation))
    return await reply.response
  }
  const server = await endpoint.backend.stateless(context, request, text, endpoint)
  if (server instanceof Fault) return faultResponse(context, server, id)
  if (server instanceof HttpResponse) return server
  const refused = checkStateless(context, request)
  if (refused?.code === UNSUPPORTED_PROTOCOL_VERSION) {
    const requested = String((params._meta as Record<string, unknown>)[PROTOCOL_VERSION])
    const supported = await server.versions()
    if (!supported.includes(requested))
      return rpcError(context, 400, { ...refused, data: { supported: [...supported], requested } }, id)
  } else if (refused) return rpcError(context, 400, refused, id)
  if (method === 'subscriptions/listen' && !takesEvents(context.headers.accept))
    return notAcceptable(context, 'text/event-stream')
  const reply = makeReply()
  const call = new StatelessCall(context, request, text, endpoint, reply, generation)
  const listing = listingOf(context)
  if (listing && isDiscovered(call, listing)) {
    const judge = (isForBackend: boolean) =>
      isForBackend ? judgeStateless(call, server, endpoint, answer) : undefined
    discover(call, listing, statelessSource(call, endpoint)).then(judge).catch(failing(call))
  } else {
    await judgeStateless(call, server, endpoint, answer)
  }
  return await reply.response
}

/** Passes a call to the server, unless rules, headers or a person forbid it. */
async function judgeStateless(
  call: StatelessCall,
  server: StatelessServer,
  endpoint: Endpoint,
  answer: Resumed['answer'],
): Promise<void> {
  if (refuses(call)) return
  const { context, request } = call
  const { method, params, via } = request
  // `call_tool` itself has no header parameters.
  const isDirect = method === 'tools/call' && typeof params.name === 'string' && via === undefined
  const declared = isDirect && !context.isLine ? await server.paramHeaders(params.name as string, call) : []
  const fault = checkParamHeaders(context.headers, declared, params.arguments)
  if (fault !== undefined) call.error(mismatch(fault))
  else if (!mayNeedApproval(call)) dispatch(call, server)
  else
    isStatelessApproved(call, endpoint, answer)
      .then((may) => may && dispatch(call, server))
      .catch(failing(call))
}

/** A stateless request. An HTTP client cancels it by disconnecting (2026-07-28, Cancellation). */
class StatelessCall extends Call implements Kept, Listener {
  private readonly registry: SessionRegistry
  private readonly endpoint: Endpoint
  readonly prefix: string
  /** Of a subscription, which is notified of reloads and ends with the gateway. */
  kinds: ReadonlySet<ListKind> | undefined

  constructor(
    context: RequestContext,
    request: Request,
    text: string,
    endpoint: Endpoint,
    reply: StatelessReply<unknown>,
    readonly generation: number,
  ) {
    const { registry, prefix, callLog } = endpoint
    super(context, request, text, STATELESS_REVISIONS[0], reply, callLog)
    this.registry = registry
    this.endpoint = endpoint
    this.prefix = prefix
    // A subscription is unlimited in time, so it does not count as a running call.
    if (request.method === 'subscriptions/listen') context.lease.uncount()
    reply.watch(() => this.cancel())
    registry.keep(this)
  }

  override answer(text: string, end?: CallEnd, status?: number, headers?: Record<string, string>): void {
    const isKept = this.approval === 'accepted' && !this.over
    super.answer(isKept ? keepsApproval(this, this.endpoint, text) : text, end, status, headers)
  }

  override error(
    error: RpcError,
    end?: CallEnd,
    status = STATUS[error.code],
    headers?: Record<string, string>,
  ): void {
    super.error(error, end, status, headers)
  }

  override subscribed(kinds: ReadonlySet<ListKind>): void {
    if (this.kinds || this.over) return
    this.kinds = kinds
    this.registry.listen(this)
  }

  write(comment: string): void {
    this.reply.write(comment)
  }

  finish(result: string): void {
    this.result(result)
    this.abort()
  }

  protected override end(): void {
    super.end()
    this.registry.drop(this)
    if (this.kinds) this.registry.unlisten(this)
  }
}

/**
 * Checks a stateless request in the specification's order: version, `_meta`, mirrored headers. Returns the first error.
 */
export function checkStateless(
  { headers, isLine }: RequestContext,
  { method, params, via }: Request,
): RpcError | undefined {
  const meta = isObject(params._meta) ? params._meta : {}
  const claimed = meta[PROTOCOL_VERSION]
  const header = isLine ? claimed : headers['mcp-protocol-version']
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
  if (isLine) return undefined
  // The headers name the tool that the client called.
  const named = via === undefined ? params : { ...params, name: via }
  const fault = checkStandardHeaders(headers, method, named)
  return fault === undefined ? undefined : mismatch(fault)
}

/** `HeaderMismatchError`. @param fault a sentence */
export function mismatch(fault: string): RpcError {
  return { code: HEADER_MISMATCH, message: `Header mismatch: ${fault}` }
}

/** `UnsupportedProtocolVersionError`. A single request cannot claim a session-based revision. */
export function unsupported(requested: string): RpcError {
  const supported = isSessionRevision(requested) ? STATELESS_REVISIONS : REVISIONS
  return {
    code: UNSUPPORTED_PROTOCOL_VERSION,
    message: `Unsupported protocol version ${requested.slice(0, 40)}; supported: ${supported.join(', ')}`,
    data: { supported: [...supported], requested },
  }
}
