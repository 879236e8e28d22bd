import { open } from 'node:fs/promises'
import { type Adapter, Low } from 'lowdb'
import { qualifiedName } from '../config/index.ts'
import { isObject } from '../json/index.ts'
import { decodeStore, reachFile, writeStore } from './file.ts'
import { type Lock, serial, withLock } from './lock.ts'
import {
  byName,
  type Change,
  type ConfigurationStore,
  checkChanges,
  conflictsOf,
  departure,
  type Outcome,
  type Reason,
  type StoredConfiguration,
  type StoredSummary,
} from './store.ts'
import { StoreError, writeError } from './store-error.ts'

/** The contents of the file when it was read. `stamp` differs after each replacement of the file. */
interface Held {
  stamp: string
  history: History
}

const ABSENT: Held = { stamp: 'empty', history: new Map() }

/**
 * Configurations in one file with all their versions. Readers take no lock, because the file is replaced in one step,
 * so a gateway can serve from it while others write. An absent file is an empty store; a file that disappears later is
 * an error.
 * @param given should be absolute; the first change creates its folder
 * @param keep maximum versions of a configuration in the history. Default: all
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

/** Reads the file; returns `held` if the file is unchanged. */
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
      // For example, the disk was unmounted: the configurations were not deleted.
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

/** A version in the file. `text` is null if this version deleted the configuration. */
export interface Entry extends StoredSummary {
  text: string | null
}

/** Versions of each configuration by `qualifiedName`, oldest first. Immutable. */
export type History = ReadonlyMap<string, readonly Entry[]>

const FORMAT = 'plantgw configurations'
const VERSION = /^[1-9]\d{0,14}$/

/** The text of the store's file, in pieces. Each version is one line. */
export function* write(history: History): Generator<string> {
  let separator = '\n'
  yield `{"format":${JSON.stringify(FORMAT)},"version":2,"versions":[`
  for (const entries of history.values())
    for (const entry of entries) {
      yield separator + JSON.stringify(entry)
      separator = ',\n'
    }
  yield '\n]}\n'
}

/**
 * Reads the text of `write`. Refuses any other text, so that no file of another kind is ever replaced.
 * @throws Error whose message describes the fault
 */
export function read(text: string): History {
  const root = parse(text)
  if (!isObject(root) || root.format !== FORMAT) throw new Error('it is not a store of configurations')
  if (root.version !== 1 && root.version !== 2) throw new Error('its `version` is neither 1 nor 2')
  if (!Array.isArray(root.versions)) throw new Error('its `versions` is not an array')
  const history = new Map<string, Entry[]>()
  const add = (entry: Entry) => {
    const id = qualifiedName(entry)
    const entries = history.get(id) ?? []
    entries.push(entry)
    history.set(id, entries)
  }
  /** By name in files of version 1, where all tenants shared the history of a name; else by `qualifiedName`. */
  const latest = new Map<string, Entry>()
  for (const [index, value] of root.versions.entries()) {
    const entry = readEntry(value, `versions[${index}]`)
    const key = root.version === 1 ? entry.name : qualifiedName(entry)
    const last = latest.get(key)
    const step = Number(entry.version) - Number(last?.version ?? 0)
    const isNext = VERSION.test(entry.version) && (root.version === 1 && last ? step === 1 : step > 0)
    if (!isNext) throw new Error(`versions[${index}] does not have the version after the previous one`)
    if (last && last.text !== null && last.tenant !== entry.tenant)
      add({ ...entry, ...departure(last, entry), text: null })
    add(entry)
    latest.set(key, entry)
  }
  return history
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`it is not JSON (${(error as Error).message})`)
  }
}

function readEntry(value: unknown, place: string): Entry {
  if (!isObject(value)) throw new Error(`${place} is not an object`)
  const { name, tenant, version, updatedAt, author, message, text, ...others } = value
  for (const [key, member] of Object.entries({ name, tenant, version, updatedAt, author }))
    if (typeof member !== 'string') throw new Error(`${place}.${key} is not a string`)
  if (message !== undefined && typeof message !== 'string')
    throw new Error(`${place}.message is not a string`)
  if (text !== null && typeof text !== 'string') throw new Error(`${place}.text is neither a string nor null`)
  const [other] = Object.keys(others)
  if (other !== undefined) throw new Error(`${place} has the unknown key ${JSON.stringify(other)}`)
  return value as unknown as Entry
}
