/** The wire: bytes from a client → messages of a known revision → a backend → bytes. */

export { Cancellation, type CancelSignal } from '../net/index.ts'
export { type Answer, CANCELLED, errorAnswer, faultAnswer, resultAnswer } from './answer.ts'
export type {
  Backend,
  BackendSession,
  ClientSession,
  KeptStream,
  Migrated,
  Opened,
  StatelessFound,
  StatelessRoute,
  StatelessServer,
} from './backend.ts'
export type { Call, Pipeline } from './call.ts'
export {
  type ApprovalOutcome,
  type AuditSink,
  type CallLog,
  type CallRecorder,
  endSpan,
  LoggedRequest,
} from './call-log.ts'
export { declares, missingCapability } from './client-capabilities.ts'
export type { CallEnd, Replicas, RequestContext, RequestHeaders } from './context.ts'
export type { Endpoint } from './endpoint.ts'
export { CANCELLATION, Fault, type FaultKind, httpStatusOf, outcomeOf } from './fault.ts'
export {
  accepted,
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
export { InFlight } from './in-flight.ts'
export { KeptResults } from './kept-results.ts'
export { listPages } from './list-pages.ts'
export { listingOf } from './listing.ts'
export { idInEnds, lineSplitter, oneLine, readInTurns } from './message-lines.ts'
export {
  checkStandardHeaders,
  declaredParamHeaders,
  mismatch,
  type ParamHeader,
  paramHeaderFault,
} from './mirror.ts'
export { digestOfRequest, PendingInput, UNKNOWN_STATE } from './pending-input.ts'
export { pipelineOf } from './pipeline.ts'
export * from './protocol.ts'
export { MAX_QUESTIONS } from './questions.ts'
export { keeperOf } from './read-result.ts'
export type { CallContents, Exchange, RecordedCall } from './recorded-call.ts'
export { sessionIdOf, stateOf, unknownSession } from './replicas.ts'
export { type Session, textOf } from './session.ts'
export { type PrefixSessions, SessionRegistry, type SessionRegistryOptions } from './session-registry.ts'
export { sessionName, shownUri, spanFacts, tracedParams } from './spans.ts'
export { type LineContext, StdioConnection } from './stdio-connection.ts'
export { serveMcp, serveMessage, serveSse } from './transports.ts'
export { UnservedSpans } from './unserved.ts'
export { isPlain, visible } from './visible.ts'
