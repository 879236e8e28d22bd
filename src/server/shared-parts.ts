import type { Logins } from '../access/failed-logins.ts'
import type { Quota, QuotaLimits } from '../access/quota.ts'
import type { SharedBuckets } from '../access/rate.ts'
import type { Cluster } from '../cluster/index.ts'
import type { Counted } from '../telemetry/counted.ts'
import type { OtherWorkers } from '../upstream/index.ts'
import type { Elsewhere } from './app.ts'
import type { HandOn } from './live.ts'
import type { ServingStatus } from './status.ts'

/** What a worker has together with the other workers of its gateway, in place of its own. */
export interface Shared {
  /** Its part among the workers. @param onForeign is called with the mark of a secret that nobody here has */
  cluster(onForeign: (mark: string) => void): Cluster
  /** What handles are sealed with. */
  sealSecrets: readonly string[]
  rates: SharedBuckets
  logins: Logins
  calls(limits: QuotaLimits): Quota
  /** @param makeRoom ends a session of a share that nobody has used for a while */
  sessions(limits: QuotaLimits, makeRoom: (prefix: string, sharer: string) => void): Quota
  otherWorkers: OtherWorkers
  /** Answers what the process has that started the workers: the gateway's own pages and the plant store. */
  elsewhere: Elsewhere
}

/** Why a new table is not served: a worker cannot, so that all of them keep what they serve. */
export class TableRefused extends Error {}

/** The workers of a gateway, as the process sees them that started them. */
export interface Workers {
  handOn: HandOn
  /** Whether one of them takes connections. */
  isServing(): boolean
  /** What each of them has counted, and those that have ended. */
  counted(): Promise<readonly Counted[]>
  /** What each of them serves at the moment. */
  statuses(): Promise<readonly WorkerStatus[]>
}

export interface WorkerStatus extends ServingStatus {
  /** From 1 on; one that takes the place of another has its number. */
  worker: number
  pid: number
  /** ISO 8601, UTC. */
  startedAt: string
  /** Of clients. */
  connections: number
}
