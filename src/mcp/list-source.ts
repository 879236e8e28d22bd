import { HttpResponse } from '../access/http-response.ts'
import { type JsonObject, stringify } from '../json/index.ts'
import { OwnReply, silent } from './approval.ts'
import type { Backend, Endpoint } from './backend.ts'
import { Call } from './call.ts'
import type { RequestContext } from './context.ts'
import { dispatch } from './dispatch.ts'
import { Fault } from './fault.ts'
import type { ListSource } from './listed-tools.ts'
import { LOG_LEVEL, metaOf, omit, ownRequest, STATELESS_REVISIONS } from './protocol.ts'
import type { Session, SessionCall } from './session.ts'

/** Source of the tool list for a session's client. */
export function sessionSource(session: Session, call: SessionCall): ListSource {
  const { served } = call
  const ask = (params: JsonObject) => session.inquire(call, 'tools/list', params)
  return sourceOf(call.context, served.backend, served, session.id, 'session', ask)
}

/** Source of the tool list for a stateless client. */
export function statelessSource(call: Call, endpoint: Endpoint): ListSource {
  const { backend, caller } = endpoint
  const { context } = call
  // A stateless request has no session, so all anonymous callers share a list.
  const viewer = JSON.stringify([caller ?? null, backend.viewerOf?.(context) ?? null])
  return sourceOf(context, backend, backend, viewer, 'stateless', (params) => inquire(call, endpoint, params))
}

function sourceOf(
  { permissions }: RequestContext,
  among: Backend,
  of: object,
  viewer: string,
  kind: 'session' | 'stateless',
  ask: ListSource['ask'],
): ListSource {
  const rules = permissions?.key() ?? ''
  return among.listsAlike
    ? { of, among, viewer: `${kind} ${rules}`, rules, stands: true, ask }
    : { of, among, viewer, rules, ask }
}

/** The response to one of the gateway's own requests, as the caller would see it. */
async function inquire(
  { context, request: { params } }: Call,
  endpoint: Endpoint,
  own: JsonObject,
): Promise<JsonObject | Fault> {
  const given = { ...own, _meta: omit(metaOf(params), 'progressToken', LOG_LEVEL) }
  const request = ownRequest('tools/list', given)
  const text = stringify(request.raw)
  const server = await endpoint.backend.stateless(context, request, text, endpoint)
  if (server instanceof Fault) return server
  if (server instanceof HttpResponse) return new Fault('internal', 'The list of tools cannot be judged')
  const reply = new OwnReply()
  dispatch(new Call(context, request, text, STATELESS_REVISIONS[0], reply, silent(endpoint.callLog)), server)
  return reply.response
}
