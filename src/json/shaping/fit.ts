import { paced, pauseFor, shorten } from '../../text/index.ts'
import { isObject, type Json, type JsonObject, mapMembers, setOwn, stringify } from '../index.ts'

/** The parts that a shortened value lacks. */
export interface Omitted {
  /** By path, such as `items[].labels`: length of the longest list, and number of items kept. */
  lists: Map<string, { kept: number; of: number }>
  /** Number of truncated strings, and their maximum length. */
  strings: { count: number; longest: number } | undefined
  /** Whether members, items or ends of strings were dropped wherever room ran out. */
  rest: boolean
  /** The members of a value that masks removed entirely. */
  missed: string[] | undefined
  /** The value before lists were limited; undefined: they were not. */
  whole?: Json | undefined
}

export function nothingOmitted(): Omitted {
  return { lists: new Map(), strings: undefined, rest: false, missed: undefined }
}

export function isOmitted({ lists, strings, rest, missed }: Omitted): boolean {
  return lists.size > 0 || strings !== undefined || rest || missed !== undefined
}

/** Strings are not cut below this length while that suffices. */
const MIN_STRING = 200

/** Limits each list in the value to `most` items, at any depth. */
export function limitItems(value: Json, most: number, omitted: Omitted, path = ''): Json {
  if (Array.isArray(value)) {
    if (value.length > most) note(omitted, path, most, value.length)
    return value.slice(0, most).map((item) => limitItems(item, most, omitted, `${path}[]`))
  }
  if (!isObject(value)) return value
  return mapMembers(value, (member, name) => limitItems(member, most, omitted, join(path, name)))
}

function note({ lists }: Omitted, path: string, kept: number, of: number): void {
  const known = lists.get(path)
  if (!known || known.of < of) lists.set(path, { kept, of: known ? Math.max(known.of, of) : of })
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

/**
 * Shortens a value to at most `most` characters of JSON: outermost lists lose their last items, longest lists first,
 * but keep one; then the longest strings are cut.
 * @param whole whether the value must keep its form, so that it may still be too long. Otherwise it is cut at the limit
 */
export async function fitJson(value: Json, most: number, omitted: Omitted, whole = false): Promise<Json> {
  const lists = await listsOf(value)
  const over = stringify(replaced(value, new Map(lists.map(({ items }) => [items, []])))).length - most
  const size = lists.reduce((sum, list) => sum + list.size, over)
  if (size <= 0) return value
  const fewer = cutLists(value, lists, size, omitted)
  await pauseFor(fewer)
  const shorter = cutStrings(fewer, most, omitted)
  await pauseFor(shorter)
  if (whole || stringify(shorter).length <= most) return shorter
  omitted.rest = true
  return prefix(shorter, most)?.value ?? null
}

interface List {
  path: string
  items: Json[]
  sizes: number[]
  size: number
}

/** The outermost lists with their sizes, longest first. */
async function listsOf(value: Json): Promise<List[]> {
  const lists: List[] = []
  findLists(value, '', lists)
  const pace = paced()
  for (const list of lists)
    for (const item of list.items) {
      const size = stringify(item).length
      list.sizes.push(size)
      list.size += size + (list.sizes.length > 1 ? 1 : 0)
      await pace(size)
    }
  return lists.sort((a, b) => b.size - a.size)
}

function findLists(value: Json, path: string, lists: List[]): void {
  if (Array.isArray(value)) lists.push({ path, items: value, sizes: [], size: 0 })
  else if (isObject(value))
    for (const [name, member] of Object.entries(value)) findLists(member, join(path, name), lists)
}

function cutLists(value: Json, lists: readonly List[], over: number, omitted: Omitted): Json {
  const cut = new Map<Json, Json[]>()
  let left = over
  for (const { path, items, sizes } of lists) {
    let kept = items.length
    while (left > 0 && kept > 1) left -= (sizes[--kept] as number) + 1
    if (kept === items.length) continue
    note(omitted, path, kept, items.length)
    cut.set(items, items.slice(0, kept))
  }
  return cut.size ? replaced(value, cut) : value
}

function replaced(value: Json, by: ReadonlyMap<Json, Json[]>): Json {
  if (Array.isArray(value)) return by.get(value) ?? value
  return isObject(value) ? mapMembers(value, (member) => replaced(member, by)) : value
}

function cutStrings(value: Json, most: number, omitted: Omitted): Json {
  const over = stringify(value).length - most
  if (over <= 0) return value
  const lengths: number[] = []
  eachString(value, (text) => lengths.push(text.length))
  const saved = (longest: number) => lengths.reduce((sum, length) => sum + Math.max(0, length - longest), 0)
  let [low, high] = [MIN_STRING, lengths.reduce((most, one) => Math.max(most, one), MIN_STRING)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (saved(middle) >= over) low = middle
    else high = middle - 1
  }
  const count = lengths.filter((length) => length > low).length
  if (count === 0) return value
  omitted.strings = { count, longest: low }
  return mapStrings(value, (text) => shorten(text, low))
}

function eachString(value: Json, see: (text: string) => void): void {
  if (typeof value === 'string') see(value)
  else if (Array.isArray(value)) for (const item of value) eachString(item, see)
  else if (isObject(value)) for (const member of Object.values(value)) eachString(member, see)
}

function mapStrings(value: Json, map: (text: string) => string): Json {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, map))
  return isObject(value) ? mapMembers(value, (member) => mapStrings(member, map)) : value
}

/** The beginning of the value that fits; undefined: nothing fits. */
function prefix(value: Json, room: number): { value: Json; size: number } | undefined {
  if (Array.isArray(value) || isObject(value)) return prefixOfParts(value, room)
  const size = stringify(value).length
  if (size <= room) return { value, size }
  if (typeof value !== 'string' || room < MIN_STRING / 10) return undefined
  // Escaping can expand a character to six.
  const cut = shorten(value, Math.max(1, Math.floor(room / 6) - 2))
  return { value: cut, size: stringify(cut).length }
}

function prefixOfParts(whole: Json[] | JsonObject, room: number): { value: Json; size: number } | undefined {
  let size = 2
  if (size > room) return undefined
  const made: Json[] | JsonObject = Array.isArray(whole) ? [] : {}
  for (const [name, part] of Array.isArray(whole) ? whole.entries() : Object.entries(whole)) {
    const key = typeof name === 'string' ? stringify(name).length + 1 : 0
    const one = prefix(part, room - size - key - 1)
    if (!one) break
    if (Array.isArray(made)) made.push(one.value)
    else setOwn(made, name as string, one.value)
    size += one.size + key + 1
  }
  return { value: made, size }
}
