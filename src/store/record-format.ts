import { qualifiedName } from '../config/index.ts'
import { isObject } from '../json/index.ts'
import { departure, type StoredSummary } from './store.ts'

/** A version in the file; `text` is null if the version deleted the configuration. */
export interface Entry extends StoredSummary {
  text: string | null
}

/** The versions that are kept of every configuration by its `qualifiedName`, oldest first. Never changed once it was handed on. */
export type History = ReadonlyMap<string, readonly Entry[]>

const FORMAT = 'plantgw configurations'
const VERSION = /^[1-9]\d{0,14}$/

/** The text of the store's file, in pieces: one version on each line. */
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
 * Reads what `write` wrote. Anything unexpected is refused, so that no file of another kind is ever replaced.
 * @throws Error whose message describes the fault
 */
export function read(text: string): History {
  const root = parse(text)
  if (!isObject(root) || root.format !== FORMAT) throw new Error('it is not a store of configurations')
  if (root.version !== 1 && root.version !== 2)
    throw new Error('its `version` is neither 1 nor 2, which are known here')
  if (!Array.isArray(root.versions)) throw new Error('its `versions` is not an array')
  const history = new Map<string, Entry[]>()
  const add = (entry: Entry) => {
    const id = qualifiedName(entry)
    const entries = history.get(id) ?? []
    entries.push(entry)
    history.set(id, entries)
  }
  /** By the name in files of version 1, where a name had one history whatever its tenant. */
  const latest = new Map<string, Entry>()
  for (const [index, value] of root.versions.entries()) {
    const entry = readEntry(value, `versions[${index}]`)
    const key = root.version === 1 ? entry.name : qualifiedName(entry)
    const last = latest.get(key)
    const step = Number(entry.version) - Number(last?.version ?? 0)
    const isNext = VERSION.test(entry.version) && (root.version === 1 && last ? step === 1 : step > 0)
    if (!isNext) throw new Error(`versions[${index}] does not have the version after the one before`)
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
