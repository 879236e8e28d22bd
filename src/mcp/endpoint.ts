import type { Backend } from './backend.ts'
import type { Pipeline } from './call.ts'
import type { CallLog } from './call-log.ts'
import type { SessionRegistry } from './session/session-registry.ts'

/** A prefix and its backend. */
export interface Endpoint {
  readonly prefix: string
  readonly registry: SessionRegistry
  readonly backend: Backend
  readonly callLog: CallLog
  readonly pipeline: Pipeline
}
