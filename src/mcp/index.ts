/** The wire: bytes from a client → a JSON-RPC message of a known revision → an answer. */

export { Cancellation, type CancelSignal } from './cancel.ts'
export { Fault, type FaultDetails, type FaultKind, httpStatusOf, outcomeOf } from './fault.ts'
export {
  type AnswerForm,
  accepted,
  acceptedForm,
  carries,
  departureOf,
  type Exchange,
  event,
  eventStream,
  headersOf,
  json,
  methodNotAllowed,
  onGone,
  type RequestHeaders,
  type ResponseHeaders,
  readBody,
  reply,
  rpcError,
  tooMuch,
} from './http.ts'
export {
  type Attached,
  createHub,
  type Hub,
  type HubOptions,
  type Kept,
  type Listener,
  type ListKind,
  type Session,
} from './hub.ts'
export { InFlight } from './in-flight.ts'
export * from './jsonrpc.ts'
export { checkParamHeaders, checkStandardHeaders, declaredParamHeaders } from './mirror.ts'
export { paramHeaderFault } from './param-header-fault.ts'
export { fold, protocolKeys } from './protocol-keys.ts'
export { type Messages, type Received, receive } from './receive.ts'
export { idOf, leave, locate, type Replicas, unknownSession } from './replicas.ts'
export { openReply, type PostReply } from './reply.ts'
export {
  allowsBatches,
  isSessionRevision,
  isStatelessRevision,
  negotiate,
  REVISIONS,
  type Revision,
  SESSION_REVISIONS,
  type SessionRevision,
  STATELESS_REVISIONS,
} from './revisions.ts'
export type { Answer, Call, Door, Endpoint, Method, ParamHeader, Service } from './service.ts'
export { messageElsewhere, serveMessage, serveSse } from './sse.ts'
export { checkStateless, claimsRevision, mismatch, unsupported } from './stateless.ts'
export { type EventStream, openStream } from './stream.ts'
export { notAcceptable, openGet, serveMcp, withSession } from './streamable.ts'
