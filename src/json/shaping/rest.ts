import { PIECE, paced } from '../../text/index.ts'
import { isObject, type Json, type JsonObject, setOwn, stringify } from '../index.ts'
import { compileFields } from './path-masks.ts'

/** The tool with which a client reads the rest of a cut-off result. */
export const READ_RESULT = 'read_result'

/** A requested part of a text: `path`, then `grep`, then `offset` and `limit`. */
export interface PartAsked {
  /** A mask, for JSON text. */
  path?: string | undefined
  /** Text contained in lines, or in items and members of JSON, ignoring case. */
  grep?: string | undefined
  /** Characters before the part. Default 0. */
  offset?: number | undefined
  /** Maximum characters of the part. */
  limit: number
}

/** The part, and the number of characters after `path` and `grep`; undefined: more than were serialized. */
type Part = { text: string; from: number; of: number | undefined } | { fault: string }

/** Whether a part refers to a parsed value. */
export function isOfValue({ path, grep }: PartAsked): boolean {
  return path !== undefined || grep !== undefined
}

/**
 * Reads a part of a text, serializing no more than needed.
 * @param value the parsed text, for a part of a value
 */
export async function partOf(whole: string, asked: PartAsked, value?: Json): Promise<Part> {
  const { path, grep, offset = 0, limit } = asked
  const enough = offset + limit + 1
  let left = value
  if (path !== undefined) {
    const masks = compileFields(path)
    if ('fault' in masks) return { fault: `\`path\` ${masks.fault}` }
    if (value === undefined) return { fault: '`path` is for JSON, which the result is not' }
    // A search needs all of it.
    left = masks.apply(value, grep === undefined ? enough : undefined)
  }
  let written: Written = { text: whole, isCut: false }
  if (grep !== undefined) written = await matching(left, whole, grep.toLowerCase(), enough)
  else if (left !== undefined) written = await jsonText(left, enough)
  const { text, isCut } = written
  // Keeps surrogate pairs together.
  const from = startOf(text, Math.min(offset, text.length))
  const end = startOf(text, Math.min(from + limit, text.length))
  return { text: text.slice(from, end), from, of: isCut ? undefined : text.length }
}

function startOf(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return at > 0 && code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}

/** A text, or a sufficiently long beginning. */
interface Written {
  text: string
  isCut: boolean
}

/** The JSON text of a value, or at least `enough` characters. */
async function jsonText(value: Json, enough: number): Promise<Written> {
  let text = ''
  const isEnough = () => text.length >= enough
  const pace = paced()
  const write = async (one: Json): Promise<void> => {
    const isList = Array.isArray(one)
    if (!(isList || isObject(one)) || !Object.values(one).some(isNested)) {
      const part = stringify(one)
      text += part
      await pace(part.length)
      return
    }
    text += isList ? '[' : '{'
    let isFirst = true
    for (const [name, member] of Object.entries(one)) {
      if (isEnough()) return
      text += (isFirst ? '' : ',') + (isList ? '' : `${stringify(name)}:`)
      isFirst = false
      await write(member)
    }
    text += isList ? ']' : '}'
  }
  await write(value)
  return { text, isCut: isEnough() }
}

function isNested(value: Json): boolean {
  return Array.isArray(value) || isObject(value)
}

/** Empty: no match. */
async function matching(
  value: Json | undefined,
  text: string,
  words: string,
  enough: number,
): Promise<Written> {
  const room = { left: enough + 1, pace: paced() }
  if (value !== undefined) {
    const found = await matchingJson(value, words, room)
    const json = found === undefined ? '' : stringify(found)
    return { text: json, isCut: json.length >= enough }
  }
  const found: string[] = []
  for (let at = 0; at <= text.length && room.left > 0; ) {
    const next = text.indexOf('\n', at)
    const line = text.slice(at, next < 0 ? text.length : next)
    if (await hasWords(line, words, room.pace)) {
      found.push(line)
      room.left -= line.length + 1
    }
    at = next < 0 ? text.length + 1 : next + 1
  }
  const lines = found.join('\n')
  return { text: lines, isCut: lines.length >= enough }
}

async function hasWords(line: string, words: string, pace: Pace): Promise<boolean> {
  for (let at = 0; at < line.length; at += PIECE) {
    // A match may extend into the next piece.
    if (
      line
        .slice(at, at + PIECE + words.length)
        .toLowerCase()
        .includes(words)
    )
      return true
    await pace(Math.min(PIECE, line.length - at))
  }
  return false
}

type Pace = ReturnType<typeof paced>
/** The characters that may still be found, and the pace of the search. */
interface Room {
  left: number
  pace: Pace
}

/**
 * The items of the outermost lists, and the other members, that contain the words; undefined: none.
 * @param room for results; the search stops when it is full
 */
async function matchingJson(value: Json, words: string, room: Room): Promise<Json | undefined> {
  let read = 0
  const has = (one: Json) => {
    const text = stringify(one)
    read = text.length
    const isFound = text.toLowerCase().includes(words)
    if (isFound) room.left -= text.length + 1
    return isFound
  }
  if (Array.isArray(value)) {
    const items: Json[] = []
    for (const item of value) {
      if (room.left <= 0) break
      if (has(item)) items.push(item)
      await room.pace(read)
    }
    return items.length > 0 ? items : undefined
  }
  if (!isObject(value)) return has(value) ? value : undefined
  const made: JsonObject = {}
  for (const [name, member] of Object.entries(value)) {
    if (room.left <= 0) break
    const isNamed = name.toLowerCase().includes(words)
    if (isNamed) room.left -= stringify(member).length + 1
    const found = isNamed ? member : await matchingJson(member, words, room)
    if (found !== undefined) setOwn(made, name, found)
  }
  return Object.keys(made).length > 0 ? made : undefined
}
