import { isObject } from '../json/index.ts'
import { int64 } from './int64.ts'
import type { Plant } from './store.ts'

export interface StoredPlant {
  owner: string
  plant: Plant
}

/** Every plant by id, in order of creation. Never changed once it was handed on. */
export type Snapshot = ReadonlyMap<bigint, StoredPlant>

/** A fault of the file's text; the message says what and where. */
export class FormatError extends Error {
  override name = 'FormatError'
}

/**
 * The text of the store's file, in pieces of at least 64 Ki characters: one plant on each line.
 * Ids are strings there, because most JSON tools would round the large ones.
 */
export function* write(snapshot: Snapshot): Generator<string> {
  let piece = '{"version":1,"plants":['
  let separator = '\n'
  for (const [id, { owner, plant }] of snapshot) {
    piece += separator + JSON.stringify({ id: String(id), owner, ...plant })
    separator = ',\n'
    if (piece.length < 65_536) continue
    yield piece
    piece = ''
  }
  yield `${piece}\n]}\n`
}

/**
 * Reads what `write` wrote. Anything unexpected is refused, so that no file of another kind is ever replaced.
 * @throws FormatError
 */
export function read(text: string): Snapshot {
  let root: unknown
  try {
    root = JSON.parse(text)
  } catch (error) {
    throw new FormatError(`it is not JSON (${(error as Error).message})`)
  }
  if (!isObject(root)) throw new FormatError('it does not hold an object')
  if (root.version !== 1) throw new FormatError('its `version` is not 1, the only one known here')
  if (!Array.isArray(root.plants)) throw new FormatError('its `plants` is not an array')
  refuseOthers(root, ['version', 'plants'], 'it')
  const snapshot = new Map<bigint, StoredPlant>()
  for (const [index, item] of root.plants.entries()) {
    const [id, stored] = readPlant(item, `plants[${index}]`)
    if (snapshot.has(id)) throw new FormatError(`plants[${index}] has the id ${id} of an earlier plant`)
    snapshot.set(id, stored)
  }
  return snapshot
}

function readPlant(item: unknown, place: string): [bigint, StoredPlant] {
  if (!isObject(item)) throw new FormatError(`${place} is not an object`)
  const { id: text, owner, name, tag } = item
  const id = typeof text === 'string' ? int64(text) : undefined
  if (id === undefined) throw new FormatError(`${place}.id is not an int64 in a string`)
  if (typeof owner !== 'string') throw new FormatError(`${place}.owner is not a string`)
  if (typeof name !== 'string') throw new FormatError(`${place}.name is not a string`)
  if (tag !== undefined && typeof tag !== 'string') throw new FormatError(`${place}.tag is not a string`)
  refuseOthers(item, ['id', 'owner', 'name', 'tag'], place)
  return [id, { owner, plant: tag === undefined ? { name } : { name, tag } }]
}

function refuseOthers(object: Record<string, unknown>, known: string[], place: string): void {
  const other = Object.keys(object).find((key) => !known.includes(key))
  if (other !== undefined) throw new FormatError(`${place} has an unknown key ${JSON.stringify(other)}`)
}
