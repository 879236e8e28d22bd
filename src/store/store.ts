import { type Identity, qualifiedName } from '../config/index.ts'
import type { Finding } from '../findings/index.ts'
import { StoreError } from './store-error.ts'

/** A stored configuration without its text. */
export interface StoredSummary extends Identity {
  /** Differs for each version of a configuration: a number from 1 on, or in a folder a hash of the text. */
  version: string
  /** ISO 8601, UTC. */
  updatedAt: string
  /** Author of this version; absent if the store does not record it. */
  author?: string
  /** Reason for this version, as its author gave it. */
  message?: string
}

export interface StoredConfiguration extends StoredSummary {
  /** The YAML text, unchanged. */
  text: string
  /** Its name in findings and messages: a path, or the store and the `qualifiedName`. */
  place: string
}

/** One version of a configuration. `deleted`: this version deleted the configuration. */
export interface HistoryEntry extends StoredSummary {
  deleted: boolean
}

/**
 * One change. `version` is the version that the change is based on; absent if the configuration must not exist yet.
 */
export type Change = Identity & ({ version?: string; text: string } | { version: string; deleted: true })

/** Author and message of a change. */
export interface Reason {
  author: string
  message?: string
}

/** A change that is based on an outdated version. A version is undefined if the configuration does not exist. */
export interface Conflict extends Identity {
  expected: string | undefined
  found: string | undefined
}

export type Outcome =
  | { kind: 'applied'; versions: StoredSummary[] }
  /** Nothing was changed. */
  | { kind: 'conflict'; conflicts: Conflict[] }
  /** Nothing was changed, because the store is no longer at the given revision. */
  | { kind: 'moved' }

/** The whole store at one moment. */
export interface Snapshot {
  revision: string
  /** By name, then by tenant. */
  configurations: StoredConfiguration[]
  /** Findings for unreadable configurations. Only a folder has them, because other programs write to it. */
  findings: Finding[]
}

/**
 * A store of configurations, with optimistic locking by versions. Each operation can be called at any time, even after
 * a failed one, and rejects only with a StoreError.
 */
export interface ConfigurationStore {
  /** Name of the store in messages, such as `postgres://db.example.com/plantgw`, without credentials. */
  label: string
  /** By name, then by tenant. */
  list(): Promise<StoredSummary[]>
  /** @param version a version of its history. Default: the current one. */
  get(identity: Identity, version?: string): Promise<StoredConfiguration | undefined>
  readAll(): Promise<Snapshot>
  /**
   * Makes all changes or none. They are durable once this resolves. No two changes have the same identity.
   * @param revision that the whole store must still have; else nothing is changed. Default: any
   */
  apply(changes: readonly Change[], reason: Reason, revision?: string): Promise<Outcome>
  /** Versions without their texts, newest first; empty if the configuration never existed. */
  history(identity: Identity): Promise<HistoryEntry[]>
  /** A value that differs after each change. Cheap enough for polling. */
  revision(): Promise<string>
  /**
   * Calls `then` soon after each change, and when changes may have been missed. Spurious calls are possible.
   * Only stores whose server sends notifications have it. `close` of the returned object ends it.
   */
  listen?(then: () => void): { close(): void }
  /** May be called twice. */
  close(): Promise<void>
}

/** Checks that every kind of store can return the changes unmodified. @throws StoreError `invalid` */
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

/** Order by name, then by tenant, in UTF-16 units: the same in every store. */
export function byName(a: Identity, b: Identity): number {
  const key = a.name === b.name ? 'tenant' : 'name'
  return a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0
}

/** The changes that are not based on the current version. */
export function conflictsOf(
  changes: readonly Change[],
  versionOf: (identity: Identity) => string | undefined,
): Conflict[] {
  return changes.flatMap(({ name, tenant, version: expected }) => {
    const found = versionOf({ name, tenant })
    return found === expected ? [] : [{ name, tenant, expected, found }]
  })
}

/** The last entry in the history of a tenant whose configuration moved to another tenant. */
export function departure<T extends Identity & { message?: string | null }>(from: Identity, to: T): T {
  return { ...to, tenant: from.tenant, message: `moved to the tenant ${to.tenant}` }
}
