import type { Context } from 'hono'
import type { HttpResponse } from '../access/http-response.ts'
import type { WorkerShare } from '../access/rate.ts'
import type { Reload, Table } from '../build/types.ts'
import type { Cluster } from '../cluster/index.ts'
import type { Env } from '../config/index.ts'
import type { PrefixSessions } from '../mcp/index.ts'
import type { Counted } from '../telemetry/counted.ts'
import type { OtherWorkers, ProxyStatus } from '../upstream/index.ts'
import type { ConsoleSource } from './console/source.ts'

/** Answers requests that another process serves; undefined: this one serves them. */
export type Elsewhere = (c: Context) => Promise<HttpResponse | undefined>

/** State that a worker shares with the other workers of its gateway. */
export interface Shared {
  /** Its view of the workers. @param onForeign called with the mark of an unknown secret */
  cluster(onForeign: (mark: string) => void): Cluster
  /** Secrets that seal handles. */
  sealSecrets: readonly string[]
  /** Its part of each `rate`. */
  share: WorkerShare
  otherWorkers: OtherWorkers
  /** Answers what the parent serves: the admin routes and the plant store. */
  elsewhere: Elsewhere
}

/** A worker cannot serve the new table, so all of them keep the current one. */
export class TableRefused extends Error {}

/** The result of a reload in all workers. */
export interface ReloadedWorkers extends Pick<Reload, 'refused' | 'findings'> {
  /** Notifies clients of the changes. */
  announce(): void
}

/** The workers of a gateway, as seen by their parent. */
export interface Workers {
  /** For the console. */
  readonly calls: ConsoleSource
  /**
   * Makes all workers serve a table.
   * @param env with which its configurations were read
   * @throws TableRefused if a worker cannot; all then keep their table
   */
  handOn(next: Table, env: Env): Promise<ReloadedWorkers>
  /** Whether one of them accepts connections. */
  isServing(): boolean
  /** Counts of each worker, including those that have ended. */
  counted(): Promise<readonly Counted[]>
  /** The table of each worker. */
  statuses(): Promise<readonly WorkerStatus[]>
}

/** The table of a process. */
export interface ServingStatus {
  /** Client sessions. */
  sessions: number
  /** By prefix. */
  sessionsOf: ReadonlyMap<string, PrefixSessions>
  streams: number
  /** Proxied servers, by prefix. */
  upstreams: ReadonlyMap<string, ProxyStatus>
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
