import { isObject } from '../json/index.ts'
import { int64 } from './int64.ts'
import type { Plant } from './store.ts'

export interface StoredPlant {
  owner: string
  plant: Plant
  /** Order of creation, a positive integer, never reused. */
  place: number
}

/** Plants by id, in order of creation. Immutable once it is shared. */
export type Snapshot = ReadonlyMap<bigint, StoredPlant>

/** An error in the file's text. The message names the place. */
export class FormatError extends Error {
  override name = 'FormatError'
}

/**
 * The text of the store's file, in pieces of at least 64 Ki characters except the last. Each plant is one line.
 * Ids are strings, because most JSON tools round large integers.
 */
export function* write(snapshot: Snapshot): Generator<string> {
  let piece = '{"version":1,"plants":['
  let separator = '\n'
  for (const [id, { owner, place, plant }] of snapshot) {
    piece += separator + JSON.stringify({ id: String(id), owner, place, ...plant })
    separator = ',\n'
    if (piece.length < 65_536) continue
    yield piece
    piece = ''
  }
  yield `${piece}\n]}\n`
}

/** Key of a plant's id. A change of one byte, to `ERASED`, deletes the plant in place. */
const ID = 'id'
const ERASED = 'ix'

/**
 * The bytes to change in a text of `write` to delete plants.
 * @throws FormatError when a plant does not begin a line
 */
export function erasures(text: Buffer, ids: readonly bigint[]): { at: number; byte: Buffer }[] {
  return ids.map((id) => {
    const line = text.indexOf(`\n{"${ID}":"${id}",`)
    if (line === -1) throw new FormatError(`the plant ${id} does not begin a line of the file`)
    return { at: line + '\n{"i'.length, byte: Buffer.from(ERASED.slice(1)) }
  })
}

/**
 * Reads the text of `write`. Refuses any other text, so that no file of another kind is ever replaced.
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
  if (root.version !== 1) throw new FormatError('its `version` is not 1')
  if (!Array.isArray(root.plants)) throw new FormatError('its `plants` is not an array')
  refuseOthers(root, ['version', 'plants'], 'it')
  const snapshot = new Map<bigint, StoredPlant>()
  let last = 0
  for (const [index, item] of root.plants.entries()) {
    if (isObject(item) && Object.hasOwn(item, ERASED)) {
      // In a file without places, deleted plants count as well.
      last++
      continue
    }
    const [id, stored] = readPlant(item, `plants[${index}]`, last)
    if (snapshot.has(id)) throw new FormatError(`plants[${index}] has the id ${id} of an earlier plant`)
    snapshot.set(id, stored)
    last = stored.place
  }
  return snapshot
}

/** @param last place of the previous plant; a file of an earlier release has no places */
function readPlant(item: unknown, where: string, last: number): [bigint, StoredPlant] {
  if (!isObject(item)) throw new FormatError(`${where} is not an object`)
  const { id: text, owner, place = last + 1, name, tag } = item
  const id = typeof text === 'string' ? int64(text) : undefined
  if (id === undefined) throw new FormatError(`${where}.id is not an int64 in a string`)
  if (typeof owner !== 'string') throw new FormatError(`${where}.owner is not a string`)
  if (typeof place !== 'number' || !Number.isSafeInteger(place) || place <= last)
    throw new FormatError(`${where}.place is not an integer above the previous place`)
  if (typeof name !== 'string') throw new FormatError(`${where}.name is not a string`)
  if (tag !== undefined && typeof tag !== 'string') throw new FormatError(`${where}.tag is not a string`)
  refuseOthers(item, ['id', 'owner', 'place', 'name', 'tag'], where)
  return [id, { owner, place, plant: tag === undefined ? { name } : { name, tag } }]
}

function refuseOthers(object: Record<string, unknown>, known: string[], place: string): void {
  const other = Object.keys(object).find((key) => !known.includes(key))
  if (other !== undefined) throw new FormatError(`${place} has an unknown key ${JSON.stringify(other)}`)
}
