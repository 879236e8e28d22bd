import type { LimitName } from '../../access/refusals.ts'
import { isObject, stringify } from '../../json/index.ts'
import type { Opened } from '../backend.ts'
import { LoggedRequest, silent } from '../call-log.ts'
import { declares } from '../client-capabilities.ts'
import type { CallEnd, RequestContext } from '../context.ts'
import type { Endpoint } from '../endpoint.ts'
import { Fault } from '../fault.ts'
import { listingOf } from '../listing.ts'
import { ELICITATION } from '../middleware/approval.ts'
import { isSessionRevision, negotiate, type Request, withParams } from '../protocol.ts'
import { serverSpan } from '../spans.ts'
import type { Session, SessionFacts } from './session.ts'

/** How sessions begin, and continue after a reload, for all transports. */

/** Opens a session before its `initialize`; returns the exceeded limit or a fault instead if that fails. */
export function beginSession(
  context: RequestContext,
  endpoint: Endpoint,
  facts: Pick<SessionFacts, 'revision' | 'onStream'>,
): Session | LimitName | Fault {
  const { caller } = context
  const { quotaKey } = context.lease
  const { registry, prefix, callLog, backend } = endpoint
  const mark = context.replicas?.mark()
  const session = registry.openSession({ prefix, caller, quotaKey, mark, ...facts }, callLog)
  if (typeof session === 'string') return session
  session.listing = listingOf(context)
  const served = backend.open(session, context)
  if (served instanceof Fault) {
    registry.endSession(session)
    return served
  }
  session.backendSession = served
  return session
}

/** Passes `initialize` to the backend of a session. */
export async function handshake(
  session: Session,
  given: Request,
  context: RequestContext,
  { callLog }: Endpoint,
): Promise<Opened> {
  const { tracer } = callLog
  const request = withKnownRevision(given)
  const span = tracer && serverSpan(tracer, { request, context, callLog, sessionId: session.id })
  const logged = new LoggedRequest(request, context, session.revision, silent(callLog), session.id)
  const opened = await session.backendSession.initialize(session, request, context)
  const { ok, end = FAILED, status = 200 } = opened
  if (ok) session.clientParams = helloOf(request)
  // Its client sends nothing else that could be logged.
  else logged.record(end)
  // An error text may contain anything, so only its kind is recorded.
  const error = ok ? undefined : { type: status >= 400 ? String(status) : 'tool_error' }
  span?.end({ 'http.response.status_code': status, 'mcp.protocol.version': session.revision }, error)
  session.elicits = elicits(request)
  return opened
}

/** A server may agree to any revision that it is asked for, also to one that the gateway does not speak. */
function withKnownRevision(request: Request): Request {
  const { protocolVersion } = request.params
  if (typeof protocolVersion !== 'string' || isSessionRevision(protocolVersion)) return request
  return withParams(request, { ...request.params, protocolVersion: negotiate(protocolVersion) })
}

const FAILED: CallEnd = { outcome: 'failed' }

/** Maximum characters kept of the client's `initialize` parameters. */
const MAX_HELLO = 4096

/** Client facts for servers that join the session later; the minimum if the client's are too long. */
function helloOf({ params }: Request): Session['clientParams'] {
  const clientInfo = isObject(params.clientInfo) ? params.clientInfo : { name: 'unknown', version: '0' }
  const capabilities = isObject(params.capabilities) ? params.capabilities : {}
  const hello = { capabilities, clientInfo }
  const isShort = stringify(hello).length <= MAX_HELLO
  return isShort ? hello : { capabilities: {}, clientInfo: { name: 'unknown', version: '0' } }
}

/** Whether the client of a session supports elicitation by form. */
function elicits({ params: { capabilities } }: Request): boolean {
  return isObject(capabilities) && declares(capabilities, ELICITATION)
}

/**
 * Sessions outlive their backend: at the first request after a reload the new backend takes over the session, while
 * running calls end on the old one.
 */
export function migrate(session: Session, context: RequestContext, { backend, registry }: Endpoint) {
  session.changing ??= change().finally(() => {
    session.changing = undefined
  })
  return session.changing

  async function change() {
    const { revision } = session
    const served = await backend.migrate(session, context)
    // The revision cannot change within a session.
    const fits = session.revision === revision
    session.revision = revision
    if (served instanceof Fault) return served
    if (served && fits && !session.isEnded) {
      session.serveBy(served)
      return served
    }
    served?.close(false)
    registry.endSession(session)
    return undefined
  }
}
