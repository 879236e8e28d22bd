import { type Identity, qualifiedName } from '../config/index.ts'
import type { Finding } from '../findings/index.ts'
import { StoreError } from './store-error.ts'

/** A configuration as it is stored, without its text. */
export interface StoredSummary extends Identity {
  /** Differs for each version of a configuration; counted from 1, or a hash of the text in a folder. */
  version: string
  /** ISO 8601, UTC. */
  updatedAt: string
  /** Author of this version; absent if the store does not record it. */
  author?: string
  /** Why. */
  message?: string
}

export interface StoredConfiguration extends StoredSummary {
  /** YAML as it was written. */
  text: string
  /** How findings and messages name it: a path, or the store and its `qualifiedName`. */
  place: string
}

/** One version of a configuration; a version that deleted it has no text. */
export interface HistoryEntry extends StoredSummary {
  deleted: boolean
}

/**
 * One change. `version` is the one that it is based on; absent says that the configuration must not be there yet.
 */
export type Change = Identity & ({ version?: string; text: string } | { version: string; deleted: true })

/** Author and message of a change. */
export interface Reason {
  author: string
  message?: string
}

/** A change based on an outdated version; undefined: the configuration does not exist. */
export interface Conflict extends Identity {
  expected: string | undefined
  found: string | undefined
}

export type Outcome =
  | { kind: 'applied'; versions: StoredSummary[] }
  /** Nothing was changed. */
  | { kind: 'conflict'; conflicts: Conflict[] }
  /** Nothing was changed: the store has another revision than the given one. */
  | { kind: 'moved' }

/** All of a store, as it was at one moment. */
export interface Snapshot {
  revision: string
  /** By name, then by tenant. */
  configurations: StoredConfiguration[]
  /** Findings for unreadable configurations; only in a folder, where anyone may write. */
  findings: Finding[]
}

/**
 * Keeps configurations: one record for each, with optimistic versions. Every operation may be called at any time, also
 * after one that failed, and rejects only with a StoreError.
 */
export interface ConfigurationStore {
  /** Says which store it is, such as `postgres://db.example.com/plantgw`; never a credential. */
  label: string
  /** By name, then by tenant. */
  list(): Promise<StoredSummary[]>
  /** @param version an older one of its history; default: the current one */
  get(identity: Identity, version?: string): Promise<StoredConfiguration | undefined>
  readAll(): Promise<Snapshot>
  /**
   * Makes all changes or none; once it resolves they are durable. Identities in `changes` differ.
   * @param revision changes nothing unless the whole store is still at this revision
   */
  apply(changes: readonly Change[], reason: Reason, revision?: string): Promise<Outcome>
  /** Newest first, without the texts; empty when there never was such a configuration. */
  history(identity: Identity): Promise<HistoryEntry[]>
  /** Differs after any change; cheap, for polling. */
  revision(): Promise<string>
  /**
   * Calls `then` soon after any change, and when changes may have been missed; spurious calls are
   * possible. Only for stores whose server notifies; `close` of the returned object ends it.
   */
  listen?(then: () => void): { close(): void }
  /** May be called twice. */
  close(): Promise<void>
}

/** Refuses changes that some store could not return unchanged. @throws StoreError */
export function checkChanges(changes: readonly Change[], { author, message = '' }: Reason): void {
  const ids = new Set<string>()
  for (const change of changes) {
    const { name, tenant } = change
    const id = qualifiedName(change)
    if (ids.has(id)) throw new StoreError('invalid', `two changes have the name ${JSON.stringify(id)}`)
    ids.add(id)
    if (name === '' || tenant === '')
      throw new StoreError('invalid', 'a configuration needs a name and a tenant')
    const texts = 'text' in change ? [change.text] : []
    if ([name, tenant, ...texts, author, message].some((text) => /\0|\p{Surrogate}/u.test(text)))
      throw new StoreError('invalid', `${JSON.stringify(id)} holds a NUL or half a character`)
  }
}

/** Names sort by their UTF-16 units, then the tenants: the same in every store. */
export function byName(a: Identity, b: Identity): number {
  const key = a.name === b.name ? 'tenant' : 'name'
  return a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0
}

/** The changes that are not based on the version that is there. */
export function conflictsOf(
  changes: readonly Change[],
  versionOf: (identity: Identity) => string | undefined,
): Conflict[] {
  return changes.flatMap(({ name, tenant, version: expected }) => {
    const found = versionOf({ name, tenant })
    return found === expected ? [] : [{ name, tenant, expected, found }]
  })
}

/** The last entry of a tenant's history, where another tenant takes over its name. */
export function departure<T extends Identity & { message?: string | null }>(from: Identity, to: T): T {
  return { ...to, tenant: from.tenant, message: `moved to the tenant ${to.tenant}` }
}
