/** HTTP as a client: connections, their faults, pauses between attempts, server-sent events. */
export { type AddressClass, OwnAddresses } from './addresses.ts'
export {
  Breaker,
  type BreakerChange,
  type BreakerState,
  LONGEST_PAUSE,
  pauseOf,
  retryPause,
} from './breaker.ts'
export { Cancellation, type CancelSignal, waitFor } from './cancel.ts'
export { fetchOnce, HttpClient } from './client.ts'
export { ENCODINGS } from './decode.ts'
export { eventParser, ownEvents, type ServerEvent, type StreamPosition } from './events.ts'
export { NetFault, type NetFaultKind, netFault, tooLargeText } from './faults.ts'
export {
  ALL_CLASSES,
  ALWAYS_DENIED,
  type DeniedClass,
  Guard,
  type Guards,
  guardedLookup,
  guardsOfCommands,
  judgedAddress,
  judgeLiteral,
} from './guard.ts'
export { type LastingConnection, lastingConnection } from './lasting-connection.ts'
export { linkTargets } from './link-header.ts'
export { askedPauseOf, Resilience, type ResilienceOptions, type RetryOutcome } from './resilience.ts'
export { isHere, isLoopback, urlFault } from './secure-url.ts'
export { serverMessage } from './server-message.ts'
export { type ClientTls, isPem, readClientTls, readTls, type TlsFault, type TlsFiles } from './tls-files.ts'
export type * from './types.ts'
