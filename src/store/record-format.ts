import { isObject } from '../json/index.ts'
import type { StoredSummary } from './store.ts'

/** A version as the file holds it; `text` is null where it deleted the configuration. */
export interface Entry extends StoredSummary {
  text: string | null
}

/** The versions that are kept of every configuration by name, oldest first and without a gap. Never changed once it was handed on. */
export type History = ReadonlyMap<string, readonly Entry[]>

const FORMAT = 'plantgw configurations'
const VERSION = /^[1-9]\d{0,14}$/

/** The text of the store's file, in pieces: one version on each line. */
export function* write(history: History): Generator<string> {
  let separator = '\n'
  yield `{"format":${JSON.stringify(FORMAT)},"version":1,"versions":[`
  for (const entries of history.values())
    for (const entry of entries) {
      yield separator + JSON.stringify(entry)
      separator = ',\n'
    }
  yield '\n]}\n'
}

/**
 * Reads what `write` wrote. Anything unexpected is refused, so that no file of another kind is ever replaced.
 * @throws Error whose message says what is wrong
 */
export function read(text: string): History {
  const root = parse(text)
  if (!isObject(root) || root.format !== FORMAT) throw new Error('it is not a store of configurations')
  if (root.version !== 1) throw new Error('its `version` is not 1, the only one known here')
  if (!Array.isArray(root.versions)) throw new Error('its `versions` is not an array')
  const history = new Map<string, Entry[]>()
  for (const [index, value] of root.versions.entries()) {
    const entry = readEntry(value, `versions[${index}]`)
    const entries = history.get(entry.name) ?? []
    const last = entries.at(-1)
    const isNext = last ? entry.version === String(Number(last.version) + 1) : VERSION.test(entry.version)
    if (!isNext) throw new Error(`versions[${index}] does not have the version after the one before`)
    entries.push(entry)
    history.set(entry.name, entries)
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
