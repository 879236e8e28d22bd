import { open } from 'node:fs/promises'
import { type Adapter, Low } from 'lowdb'
import { qualifiedName } from '../config/index.ts'
import { decodeStore, reachFile, writeStore } from '../durable/file.ts'
import type { Lock } from '../durable/lock.ts'
import { StoreError, writeError } from '../durable/store-error.ts'
import { type Entry, type History, read, write } from './record-format.ts'
import {
  byName,
  type Change,
  type ConfigurationStore,
  checkChanges,
  conflictsOf,
  type Outcome,
  type Reason,
  type StoredConfiguration,
  type StoredSummary,
} from './store.ts'
import { serial, withLock } from './waiting-lock.ts'

/** The file as it was read: `stamp` is another one whenever the file was replaced. */
interface Held {
  stamp: string
  history: History
}

const ABSENT: Held = { stamp: 'empty', history: new Map() }

/**
 * Configurations in one file with all their versions. Readers take no lock, as the file is replaced in one step,
 * so a gateway may serve from it while others write. An absent file is an empty store,
 * and one that goes while it is used cannot be read.
 * @param given should be absolute; its folder is made at the first change
 * @param keep versions of a configuration that its history holds
 */
export function lowdbStore(given: string, keep = Number.POSITIVE_INFINITY): ConfigurationStore {
  const label = `lowdb:${given}`
  let held: Held = ABSENT
  let closed = false
  const inTurn = serial()

  async function look(): Promise<Held> {
    if (closed) throw new StoreError('closed', `the store ${given} is closed`)
    held = await load(given, held)
    return held
  }

  async function change(changes: readonly Change[], reason: Reason, revision?: string): Promise<Outcome> {
    const path = await reachFile(given).catch((error) => {
      throw writeError(given, error)
    })
    return withLock(`${path}.lock`, `the store ${path}`, async (lock) => {
      const before = await look()
      if (revision !== undefined && revision !== before.stamp) return { kind: 'moved' }
      const conflicts = conflictsOf(
        changes,
        (identity) => current(before.history.get(qualifiedName(identity)))?.version,
      )
      if (conflicts.length > 0) return { kind: 'conflict', conflicts }
      const { history, versions } = next(before.history, changes, reason, keep)
      const db = new Low<History>(adapterOf(path, lock), before.history)
      db.data = history
      await db.write()
      return { kind: 'applied', versions }
    })
  }

  return {
    label,
    async list() {
      const { history } = await look()
      return [...history.values()]
        .flatMap((entries) => current(entries) ?? [])
        .map(summary)
        .sort(byName)
    },
    async get(identity, version) {
      const entries = (await look()).history.get(qualifiedName(identity))
      const entry = version === undefined ? current(entries) : entries?.find((one) => one.version === version)
      return entry && stored(entry, label)
    },
    async readAll() {
      const { stamp, history } = await look()
      const configurations = [...history.values()].flatMap((entries) => {
        const entry = current(entries)
        return (entry && stored(entry, label)) ?? []
      })
      return { revision: stamp, configurations: configurations.sort(byName), findings: [] }
    },
    async apply(changes, reason, revision) {
      checkChanges(changes, reason)
      if (changes.length === 0) return { kind: 'applied', versions: [] }
      return inTurn(() => change(changes, reason, revision))
    },
    async history(identity) {
      const entries = (await look()).history.get(qualifiedName(identity)) ?? []
      return entries.map((entry) => ({ ...summary(entry), deleted: entry.text === null })).reverse()
    },
    revision: async () => (await look()).stamp,
    async close() {
      await inTurn(async () => {
        closed = true
      })
    },
  }
}

function current(entries: readonly Entry[] | undefined): Entry | undefined {
  const last = entries?.at(-1)
  return last && last.text !== null ? last : undefined
}

function summary({ text: _, ...rest }: Entry): StoredSummary {
  return rest
}

function stored(entry: Entry, label: string): StoredConfiguration | undefined {
  const { text } = entry
  return text === null ? undefined : { ...entry, text, place: `${label}/${qualifiedName(entry)}` }
}

function next(before: History, changes: readonly Change[], { author, message }: Reason, keep: number) {
  const history = new Map(before)
  const updatedAt = new Date().toISOString()
  const versions = changes.map((change): StoredSummary => {
    const { name, tenant } = change
    const id = qualifiedName(change)
    const entries = history.get(id) ?? []
    const entry: Entry = {
      name,
      tenant,
      version: String(Number(entries.at(-1)?.version ?? 0) + 1),
      updatedAt,
      author,
      ...(message !== undefined && { message }),
      text: 'text' in change ? change.text : null,
    }
    history.set(id, [...entries, entry].slice(-keep))
    return summary(entry)
  })
  return { history, versions }
}

/** The contents of the file; `held` itself if the file is unchanged. */
async function load(path: string, held: Held): Promise<Held> {
  try {
    const file = await open(path)
    try {
      const { ino, mtimeNs, size } = await file.stat({ bigint: true })
      const stamp = `${ino}-${mtimeNs}-${size}`
      if (stamp === held.stamp) return held
      return { stamp, history: decodeStore(`the store ${path}`, await file.readFile(), read) }
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof StoreError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      if (held === ABSENT) return ABSENT
      // Such as a disk that was unmounted: its configurations were not deleted.
      throw new StoreError('failed', `the store ${path} no longer exists: restore the file`)
    }
    throw new StoreError('failed', `cannot read the store ${path}: ${(error as Error).message}`)
  }
}

/** Resolves a `write` once it is durable. */
function adapterOf(path: string, lock: Lock): Adapter<History> {
  return {
    read: async () => (await load(path, ABSENT)).history,
    write: (history) => writeStore(path, lock, write(history)),
  }
}
