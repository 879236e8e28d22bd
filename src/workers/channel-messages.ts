import type { SendHandle } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import type { QuotaLimits, Reached } from '../access/quota.ts'
import type { Take } from '../access/rate.ts'
import type { Denial } from '../access/steps.ts'
import type { Env, Settings, Source } from '../config/index.ts'
import type { WorkerStatus } from '../server/shared-parts.ts'
import type { Counted } from '../telemetry/counted.ts'
import type { GroupChange, ListChange } from '../upstream/index.ts'
import type { WorkerPlace } from './peers.ts'

/** What a worker begins with. */
export interface Beginning {
  /** From 1 on. */
  worker: number
  settings: Settings
  version: string
  /** What handles of clients are sealed with. */
  sealSecrets: readonly string[]
  /** By which workers know each other. */
  secret: string
  /** Names the run of the gateway. */
  run: string
  served: ServedSources
}

/** The configurations that are served: those that were refused are not among them. */
export interface ServedSources {
  generation: number
  env: Env
  /** By `id`. */
  sources: ReadonlyMap<string, Source>
}

/** What a reload changes of them. */
export interface Change {
  generation: number
  /** Absent: it is the same. */
  env?: Env
  changed: ReadonlyMap<string, Source>
  removed: readonly string[]
}

/** A request for what the process has that started the workers. */
export interface PageRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string | undefined>>
  rawHeaders: readonly string[]
  /** Such as `1.1`: proxies are recognised by it. */
  httpVersion: string | undefined
  remoteAddress: string | undefined
  body: Uint8Array | undefined
}

export interface Page {
  status: number
  headers: [name: string, value: string][]
  body: Uint8Array
}

/** Which of the counts: of calls under way, or of sessions. */
export type QuotaName = 'calls' | 'sessions'

/** Asks for a part of what there may be. */
export interface LeaseQuestion {
  quota: QuotaName
  limits: QuotaLimits
  prefix: string
  caller: string
  count: number
}

/** Asks for what a worker does not use of the counts of a prefix and caller. */
export interface RecallQuestion extends LeaseQuestion {
  /** Whether the worker frees something that is not in use. */
  makesRoom: boolean
}

/** Of each of the three counts, by its key. */
export type Units = ReadonlyMap<string, number>

export interface LoginQuestion {
  address: string | undefined
  /** Absent: the credentials were wrong. */
  caller?: string
}

/** What the process that started the workers answers them. */
export interface ParentHandlers {
  [name: string]: (value: never) => unknown
  hello(nothing: undefined): void
  page(request: PageRequest): Promise<Page>
  take(takes: readonly Take[]): readonly number[]
  login(question: LoginQuestion): Promise<{ denial: Denial | undefined; refused: Denial | undefined }>
  lease(question: LeaseQuestion): Promise<Reached>
  giveBack(given: { quota: QuotaName; units: Units }): void
  /** A connection that came, before anything is read of it. */
  taken(connection: number): void
  /** Connections that have ended, by number. */
  closed(connections: readonly number[]): void
  counted(counted: Counted): void
  /** What it has started, to be ended where it is killed. */
  group(change: GroupChange): void
  /** For the other workers. */
  listChanged(change: ListChange): void
  /** The address of another replica, for the other workers; resolves once they know it. */
  met(address: string): Promise<void>
  /** Resolves when no connections come any more. */
  closeListener(nothing: undefined): Promise<void>
}

/** What a worker answers the process that started it. */
export interface WorkerHandlers {
  [name: string]: (value: never, handle?: SendHandle) => unknown
  /** @returns where the other workers reach it */
  begin(beginning: Beginning): Promise<string>
  /** Who serves, this one among them. */
  peers(workers: readonly WorkerPlace[]): void
  /** A list of an MCP server changed in a session of another worker. */
  listChanged(change: ListChange): void
  /** Another worker has met the replica of this address. */
  met(address: string): void
  startServers(nothing: undefined): void
  ownAddress(address: AddressInfo): void
  /** Answers, as long as it is well. */
  beat(nothing: undefined): void
  prepare(change: Change): Promise<void>
  commit(generation: number): void
  /** All workers have committed: clients may hear of it. */
  follow(nothing: undefined): void
  /** What was prepared is not served, as another worker cannot serve it. */
  discard(nothing: undefined): void
  connection(connection: { id: number; surplus: boolean }, handle?: SendHandle): void
  counted(nothing: undefined): Promise<Counted>
  status(nothing: undefined): WorkerStatus
  /** Gives back what is not in use of the counts of a prefix and caller. */
  recall(question: RecallQuestion): Units
  renewTls(nothing: undefined): void
  /** Resolves when what its clients had under way has ended. */
  drain(limits: { grace: number; timeout: number }): Promise<void>
  /** No worker has clients any more, for which it may have a child or a session. */
  end(nothing: undefined): Promise<void>
}
