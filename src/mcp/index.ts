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
export { listPages } from './list-pages.ts'
export { listingOf } from './listing.ts'
export { KeptResults } from './middleware/kept-results.ts'
export {
  checkStandardHeaders,
  declaredParamHeaders,
  mismatch,
  type ParamHeader,
  paramHeaderFault,
} from './middleware/mirror.ts'
export { keeperOf } from './middleware/read-result.ts'
export { pipelineOf } from './pipeline.ts'
export * from './protocol.ts'
export type { CallContents, Exchange, RecordedCall } from './recorded-call.ts'
export { digestOfRequest, PendingInput, UNKNOWN_STATE } from './session/pending-input.ts'
export { MAX_QUESTIONS } from './session/questions.ts'
export { sessionIdOf, stateOf, unknownSession } from './session/replicas.ts'
export type { Session } from './session/session.ts'
export {
  type PrefixSessions,
  SessionRegistry,
  type SessionRegistryOptions,
} from './session/session-registry.ts'
export { sessionName, shownUri, spanFacts, tracedParams } from './spans.ts'
export { idInEnds, lineSplitter, oneLine, readInTurns } from './transport/message-lines.ts'
export { type LineContext, StdioConnection } from './transport/stdio-connection.ts'
export { serveMcp, serveMessage, serveSse } from './transport/transports.ts'
export { UnservedSpans } from './unserved.ts'
export { isPlain, visible } from './visible.ts'
