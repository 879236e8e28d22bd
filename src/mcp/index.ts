/** The wire: bytes from a client → messages of a known revision → a backend → bytes. */

export { Cancellation, type CancelSignal } from '../net/index.ts'
export type {
  Backend,
  BackendSession,
  Endpoint,
  Migrated,
  Opened,
  PassThrough,
  StatelessFound,
  StatelessServer,
} from './backend.ts'
export {
  type ApprovalOutcome,
  type AuditSink,
  Call,
  type CallLog,
  endOfFault,
  endSpan,
  InFlight,
  LoggedRequest,
} from './call.ts'
export { declares, missingCapability } from './client-capabilities.ts'
export type { CallEnd, Replicas, RequestContext, RequestHeaders, Results } from './context.ts'
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
  readBody,
  readWhole,
  reply,
  rpcError,
  tooMuch,
} from './http.ts'
export { KeptResults } from './kept-results.ts'
export { idInEnds, lineSplitter, oneLine, readInTurns } from './message-lines.ts'
export { checkStandardHeaders, declaredParamHeaders, type ParamHeader, paramHeaderFault } from './mirror.ts'
export { digestOfRequest, PendingInput, UNKNOWN_STATE } from './pending-input.ts'
export * from './protocol.ts'
export { MAX_QUESTIONS } from './questions.ts'
export { resultsOf } from './read-result.ts'
export { sessionIdOf, unknownSession } from './replicas.ts'
export { type Session, textOf } from './session.ts'
export { type Kept, SessionRegistry, type SessionRegistryOptions } from './session-registry.ts'
export { sessionName, shownUri, spanFacts, tracedParams } from './spans.ts'
export { mismatch, statusOfError } from './stateless.ts'
export { type LineContext, StdioConnection } from './stdio-connection.ts'
export { serveMcp, serveMessage, serveSse } from './transports.ts'
export { UnservedSpans } from './unserved.ts'
export { isPlain, visible } from './visible.ts'
