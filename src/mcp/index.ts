/** The wire: bytes from a client → messages of a known revision → a backend → bytes. */

export { Cancellation, type CancelSignal } from '../net/index.ts'
export type {
  Adopted,
  Alone,
  Backend,
  BackendSession,
  Endpoint,
  Opened,
  ParamHeader,
  PassThrough,
  StatelessServer,
} from './backend.ts'
export { Accounted, type Accounting, Call, type CallEnd } from './call.ts'
export { Fault, type FaultDetails, type FaultKind, httpStatusOf, outcomeOf } from './fault.ts'
export {
  carries,
  type Exchange,
  event,
  headersOf,
  isGone,
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
export { Hub, type HubOptions, type ListKind, taggedNotification } from './hub.ts'
export { InFlight } from './in-flight.ts'
export * from './jsonrpc.ts'
export * from './meta.ts'
export { checkParamHeaders, checkStandardHeaders, declaredParamHeaders, paramHeaderFault } from './mirror.ts'
export { fold, protocolKeys } from './protocol-keys.ts'
export type { Messages } from './receive.ts'
export { type Replicas, unknownSession } from './replicas.ts'
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
export { MAX_QUESTIONS, type Session, textOf } from './session.ts'
export { serveMessage, serveSse } from './sse.ts'
export { mismatch, statusOfError } from './stateless.ts'
export { serveMcp } from './streamable.ts'
