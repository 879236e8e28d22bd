import type { Logins } from '../access/failed-logins.ts'
import type { Quota, QuotaLimits } from '../access/quota.ts'
import type { SharedBuckets } from '../access/rate.ts'
import type { Cluster } from '../cluster/index.ts'
import type { Counted } from '../telemetry/counted.ts'
import type { OtherWorkers } from '../upstream/index.ts'
import type { Elsewhere } from './app.ts'
import type { HandOn } from './live.ts'
import type { ServingStatus } from './status.ts'

/** State that a worker shares with the other workers of its gateway. */
export interface Shared {
  /** Its view of the workers. @param onForeign called with the mark of an unknown secret */
  cluster(onForeign: (mark: string) => void): Cluster
  /** Secrets that seal handles. */
  sealSecrets: readonly string[]
  rates: SharedBuckets
  logins: Logins
  calls(limits: QuotaLimits): Quota
  /** @param makeRoom ends an idle session of a quota key */
  sessions(limits: QuotaLimits, makeRoom: (prefix: string, sharer: string) => void): Quota
  otherWorkers: OtherWorkers
  /** Answers what the parent serves: the admin routes and the plant store. */
  elsewhere: Elsewhere
}

/** A worker cannot serve the new table, so all of them keep the current one. */
export class TableRefused extends Error {}

/** The workers of a gateway, as seen by their parent. */
export interface Workers {
  handOn: HandOn
  /** Whether one of them accepts connections. */
  isServing(): boolean
  /** Counts of each worker, including those that have ended. */
  counted(): Promise<readonly Counted[]>
  /** What each worker serves now. */
  statuses(): Promise<readonly WorkerStatus[]>
}

export interface WorkerStatus extends ServingStatus {
  /** From 1 on; a replacement keeps the number. */
  worker: number
  pid: number
  /** ISO 8601, UTC. */
  startedAt: string
  /** Number of client connections. */
  connections: number
}
