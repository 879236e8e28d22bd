import type { Backend } from './backend.ts'
import type { Pipeline } from './call.ts'
import type { CallLog } from './call-log.ts'
import type { SessionRegistry } from './session/session-registry.ts'

/** A prefix, its backend, and the caller of the current request. */
export interface Endpoint {
  readonly prefix: string
  readonly registry: SessionRegistry
  /** Identity, if the route authenticates callers; sessions are bound to it. */
  readonly caller: string | undefined
  readonly backend: Backend
  readonly callLog: CallLog
  readonly pipeline: Pipeline
}
