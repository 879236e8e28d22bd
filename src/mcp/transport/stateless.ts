import { HttpResponse } from '../../access/http-response.ts'
import { isObject, type JsonObject } from '../../json/index.ts'
import { inOneGo } from '../../telemetry/loop-delay.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { type Answer, errorAnswer, faultAnswer, resultAnswer } from '../answer.ts'
import type { KeptStream, StatelessServer } from '../backend.ts'
import { Call, type ElicitationOutcome, type Viewer } from '../call.ts'
import type { ApprovalOutcome } from '../call-log.ts'
import type { RequestContext } from '../context.ts'
import type { Endpoint } from '../endpoint.ts'
import { Fault } from '../fault.ts'
import { notAcceptable, rpcError, takesEvents } from '../http.ts'
import { type Listing, listingOf } from '../listing.ts'
import { visitStateless, withoutVisit } from '../middleware/logins.ts'
import { checkStandardHeaders, mismatch, type ParamHeader } from '../middleware/mirror.ts'
import { readsResult } from '../middleware/read-result.ts'
import { NO_ANSWER, OwnCall } from '../own-call.ts'
import { handle } from '../pipeline.ts'
import {
  CLIENT_CAPABILITIES,
  HEADER_MISMATCH,
  INVALID_PARAMS,
  isSessionRevision,
  isStatelessRevision,
  LISTEN,
  type ListKind,
  LOG_LEVEL,
  METHOD_NOT_FOUND,
  metaOf,
  omit,
  ownRequest,
  PROTOCOL_VERSION,
  REVISIONS,
  type Request,
  type RpcError,
  STATELESS_REVISIONS,
  textOf,
  UNSUPPORTED_PROTOCOL_VERSION,
} from '../protocol.ts'
import type { Listener } from '../session/session-registry.ts'
import type { StatelessReply } from '../session/stream.ts'
import { askStateless, keepsApproval, resumeApproval } from './stateless-approval.ts'

/** Revision 2026-07-28: stateless requests. */

/** HTTP statuses of errors (2026-07-28, Streamable HTTP); other errors use 200, like results. */
const STATUS: Record<number, number> = {
  [METHOD_NOT_FOUND]: 404,
  [HEADER_MISMATCH]: 400,
  [-32021]: 400,
  [UNSUPPORTED_PROTOCOL_VERSION]: 400,
}

function statusOfCode(code: number | undefined): number | undefined {
  return code === undefined ? undefined : STATUS[code]
}

/** Whether a message's body claims a stateless revision. */
export function claimsRevision(params: unknown): boolean {
  return isObject(params) && isObject(params._meta) && PROTOCOL_VERSION in params._meta
}

/**
 * Answers a request whose body or version header names 2026-07-28.
 * @param makeReply creates the reply that receives the answer
 * @returns the answer, or the result of `makeReply` that takes it
 */
export async function answerStateless<Sent>(
  context: RequestContext,
  given: Request,
  text: string,
  endpoint: Endpoint,
  makeReply: () => StatelessReply<Sent>,
): Promise<HttpResponse | Sent> {
  const { generation } = endpoint.registry
  const { id, method } = given
  const refused = checkStateless(context, given)
  if (refused) return rpcError(400, refused, id)
  const resumed = context.route.approval && (await resumeApproval(context, given, text, endpoint))
  if (resumed instanceof HttpResponse) return resumed
  const { request: own, approval } = resumed ?? { request: given }
  const { request, visited } = withoutVisit(own)
  // Kept results need no server.
  const isOwn = context.results !== undefined && readsResult(request)
  const found = isOwn ? NO_SERVER : await endpoint.backend.stateless(context, request, text)
  if (found instanceof HttpResponse) return found
  const server = found instanceof Fault ? unreachable(found) : found
  if (method === LISTEN && !takesEvents(context.headers.accept)) return notAcceptable('text/event-stream')
  const reply = makeReply()
  const call = new StatelessCall(context, request, endpoint, { reply, generation, server })
  call.approval = approval
  call.visited = visited
  call.answerBy(handle(call)).catch(unexpected(method))
  return await reply.response
}

const NO_SERVER: StatelessServer = {
  paramHeaders: async () => [],
  request: async (call) => errorAnswer(call, { code: METHOD_NOT_FOUND, message: 'Method not found' }),
}

/** A server that cannot be asked: its calls are logged and recorded as those of other servers. */
function unreachable(fault: Fault): StatelessServer {
  return { ...NO_SERVER, request: async (call) => faultAnswer(call, fault) }
}

interface StatelessParts {
  reply: StatelessReply<unknown>
  /** Generation of the registry when the request came. */
  generation: number
  server: StatelessServer
}

/** A stateless request. An HTTP client cancels it by disconnecting (2026-07-28, Cancellation). */
class StatelessCall extends Call implements KeptStream, Listener {
  readonly prefix: string
  readonly generation: number
  readonly listing: Listing | undefined
  /** The answer to the gateway's own question, until it is read. */
  visited: ApprovalOutcome | undefined
  /** Lists of a subscription, which is notified of reloads and ends with the gateway. */
  kinds: ReadonlySet<ListKind> | undefined
  private readonly reply: StatelessReply<unknown>
  private readonly server: StatelessServer

  constructor(
    context: RequestContext,
    request: Request,
    private readonly endpoint: Endpoint,
    { reply, generation, server }: StatelessParts,
  ) {
    const { registry, prefix, callLog, pipeline } = endpoint
    super({ context, request, revision: STATELESS_REVISIONS[0], callLog, pipeline })
    this.prefix = prefix
    this.reply = reply
    this.generation = generation
    this.server = server
    this.listing = listingOf(context)
    // A subscription is unlimited in time, so it does not count as a running call.
    if (request.method === LISTEN) context.lease.uncount()
    reply.watch(() => this.cancel())
    registry.keep(this)
  }

  /** Sends the answer when it is there. */
  async answerBy(answering: Promise<Answer>): Promise<void> {
    const { text, end, status = statusOfCode(end.code), headers } = await answering
    this.endpoint.registry.drop(this)
    if (this.kinds) this.endpoint.registry.unlisten(this)
    if (text === undefined) this.reply.end()
    else this.reply.answer(text, status, headers)
  }

  serve(): Promise<Answer> {
    return inOneGo(this.request.method, this.prefix, () => this.server.request(this))
  }

  message(text: string): void {
    if (!this.signal.aborted) this.reply.message(text)
  }

  write(comment: string): void {
    this.reply.write(comment)
  }

  get viewer(): Viewer {
    const { context } = this
    const { backend } = this.endpoint
    // A stateless request has no session, so all anonymous callers share a list.
    const key = JSON.stringify([context.caller ?? null, backend.viewerOf?.(context) ?? null])
    return { of: backend, among: backend, key, kind: 'stateless' }
  }

  override async paramHeaders(): Promise<readonly ParamHeader[]> {
    const { method, params, via } = this.request
    // `call_tool` itself has no header parameters.
    const isDirect = method === 'tools/call' && typeof params.name === 'string' && via === undefined
    return isDirect && !this.context.isLine ? this.server.paramHeaders(params.name as string, this) : []
  }

  async ask(params: JsonObject): Promise<ElicitationOutcome | Answer> {
    return askStateless(this, params, this.endpoint.registry.approvals)
  }

  override async visit(params: JsonObject): Promise<ElicitationOutcome | Answer> {
    const { visited } = this
    this.visited = undefined
    return visited ? { outcome: visited } : visitStateless(this, params)
  }

  override keepApproval(answer: Answer): Answer {
    return keepsApproval(this, answer, this.endpoint.registry.approvals)
  }

  async inquire(method: string, params: JsonObject): Promise<JsonObject | Fault> {
    const { context } = this
    const _meta = omit(metaOf(this.request.params), 'progressToken', LOG_LEVEL)
    const request = ownRequest(method, { ...params, _meta })
    const server = await this.endpoint.backend.stateless(context, request, textOf(request))
    if (server instanceof Fault) return server
    if (server instanceof HttpResponse) return NO_ANSWER
    return new OwnCall(this, request, server).response()
  }

  override subscribed(kinds: ReadonlySet<ListKind>): void {
    if (this.kinds || this.signal.aborted) return
    this.kinds = kinds
    this.endpoint.registry.listen(this)
  }

  finish(result: string): void {
    this.endWith(resultAnswer(this, result))
  }
}

/**
 * Checks a stateless request in the specification's order: version, `_meta`, mirrored headers. Returns the first error.
 */
function checkStateless(
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

/** `UnsupportedProtocolVersionError`. A single request cannot claim a session-based revision. */
export function unsupported(requested: string): RpcError {
  const supported = isSessionRevision(requested) ? STATELESS_REVISIONS : REVISIONS
  return {
    code: UNSUPPORTED_PROTOCOL_VERSION,
    message: `Unsupported protocol version ${requested.slice(0, 40)}; supported: ${supported.join(', ')}`,
    data: { supported: [...supported], requested },
  }
}
