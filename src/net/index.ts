/** HTTP as a client: connections, their faults, pauses between attempts, server-sent events. */
export { Backoff, retryPause } from './backoff.ts'
export { Cancellation, type CancelSignal } from './cancel.ts'
export { fetchOnce, HttpClient } from './client.ts'
export { ENCODINGS } from './decode.ts'
export { eventParser, type ServerEvent, type StreamPosition } from './events.ts'
export { errorCode, NetFault, type NetFaultKind, netFault, tooLargeText } from './faults.ts'
export { isLoopback, urlFault } from './secure-url.ts'
export type * from './types.ts'
