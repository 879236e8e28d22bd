/** HTTP as a client: connections, their faults, pauses between attempts, server-sent events. */
export { Backoff, retryPause } from './backoff.ts'
export { Cancellation, type CancelSignal } from './cancel.ts'
export { HttpClient } from './client.ts'
export { decodeAnswer } from './decode.ts'
export { eventParser, type ServerEvent } from './events.ts'
export { errorCode, NetFault, type NetFaultKind, netFault } from './faults.ts'
export type * from './types.ts'
