import { isObject } from '../json/index.ts'
import { int64 } from './int64.ts'
import type { Plant } from './store.ts'

export interface StoredPlant {
  owner: string
  plant: Plant
  /** Order of creation, a positive integer, never reused. */
  place: number
}

/** Every plant by id, in order of creation. Never changed once it was handed on. */
export type Snapshot = ReadonlyMap<bigint, StoredPlant>

/** An error in the file's text; the message has the place. */
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
  for (const [id, { owner, place, plant }] of snapshot) {
    piece += separator + JSON.stringify({ id: String(id), owner, place, ...plant })
    separator = ',\n'
    if (piece.length < 65_536) continue
    yield piece
    piece = ''
  }
  yield `${piece}\n]}\n`
}

/** The key of a plant's id, and the key with one byte changed that marks the plant as deleted in place. */
const ID = 'id'
const ERASED = 'ix'

/**
 * Where a text of `write` is to be changed so that plants are gone from it.
 * @throws FormatError when one is not where `write` puts it
 */
export function erasures(text: Buffer, ids: readonly bigint[]): { at: number; byte: Buffer }[] {
  return ids.map((id) => {
    const line = text.indexOf(`\n{"${ID}":"${id}",`)
    if (line === -1) throw new FormatError(`the plant ${id} does not begin a line of the file`)
    return { at: line + '\n{"i'.length, byte: Buffer.from(ERASED.slice(1)) }
  })
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
  let last = 0
  for (const [index, item] of root.plants.entries()) {
    if (isObject(item) && Object.hasOwn(item, ERASED)) {
      // It had a place in a file without places as well.
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

/** @param last place of the plant before; a file of an earlier release has no places */
function readPlant(item: unknown, where: string, last: number): [bigint, StoredPlant] {
  if (!isObject(item)) throw new FormatError(`${where} is not an object`)
  const { id: text, owner, place = last + 1, name, tag } = item
  const id = typeof text === 'string' ? int64(text) : undefined
  if (id === undefined) throw new FormatError(`${where}.id is not an int64 in a string`)
  if (typeof owner !== 'string') throw new FormatError(`${where}.owner is not a string`)
  if (typeof place !== 'number' || !Number.isSafeInteger(place) || place <= last)
    throw new FormatError(`${where}.place is not an integer above that of the plant before`)
  if (typeof name !== 'string') throw new FormatError(`${where}.name is not a string`)
  if (tag !== undefined && typeof tag !== 'string') throw new FormatError(`${where}.tag is not a string`)
  refuseOthers(item, ['id', 'owner', 'place', 'name', 'tag'], where)
  return [id, { owner, place, plant: tag === undefined ? { name } : { name, tag } }]
}

function refuseOthers(object: Record<string, unknown>, known: string[], place: string): void {
  const other = Object.keys(object).find((key) => !known.includes(key))
  if (other !== undefined) throw new FormatError(`${place} has an unknown key ${JSON.stringify(other)}`)
}
