/** The wire: bytes from a client → messages of a known revision → a backend → bytes. */

export { Cancellation, type CancelSignal } from '../net/index.ts'
export type { ApprovalOutcome } from './approval.ts'
export type {
  Backend,
  BackendSession,
  Endpoint,
  Migrated,
  Opened,
  ParamHeader,
  PassThrough,
  StatelessFound,
  StatelessServer,
} from './backend.ts'
export {
  type AuditSink,
  Call,
  type CallEnd,
  type CallLog,
  endOfFault,
  endSpan,
  InFlight,
  LoggedRequest,
} from './call.ts'
export { declares, missingCapability } from './client-capabilities.ts'
export { listingOf } from './discover.ts'
export { Fault, type FaultKind, httpStatusOf, outcomeOf } from './fault.ts'
export {
  accepted,
  carries,
  event,
  eventStream,
  faultResponse,
  headersOf,
  json,
  methodNotAllowed,
  nodePair,
  type RequestContext,
  type RequestHeaders,
  readBody,
  readWhole,
  reply,
  rpcError,
  tooMuch,
} from './http.ts'
export { KeptResults } from './kept-results.ts'
export { idInEnds, lineSplitter, oneLine, readInTurns } from './message-lines.ts'
export { checkStandardHeaders, declaredParamHeaders, paramHeaderFault } from './mirror.ts'
export { digestOfRequest, PendingInput, UNKNOWN_STATE } from './pending-input.ts'
export * from './protocol.ts'
export { MAX_QUESTIONS } from './questions.ts'
export { type Results, resultsOf } from './read-result.ts'
export type { Messages } from './receive.ts'
export { type Replicas, sessionIdOf, unknownSession } from './replicas.ts'
export { type Session, textOf } from './session.ts'
export { type Kept, SessionRegistry, type SessionRegistryOptions } from './session-registry.ts'
export { sessionName, shownUri, spanFacts, tracedParams } from './spans.ts'
export { mismatch, statusOfError } from './stateless.ts'
export { type LineContext, StdioConnection } from './stdio-connection.ts'
export { serveMcp, serveMessage, serveSse } from './transports.ts'
export { UnservedSpans } from './unserved.ts'
export { isPlain, visible } from './visible.ts'
