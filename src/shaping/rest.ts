import { isObject, type Json, type JsonObject, setOwn, stringify } from '../json/index.ts'
import { giveWay } from '../text/index.ts'
import { jsonIn } from './json-in.ts'
import { compileMasks } from './path-masks.ts'

/** The tool with which a client reads what was cut off the result of another. */
export const READ_RESULT = 'read_result'

/** Which part of a text is asked for: first `path`, then `grep`, then `offset` and `limit`. */
export interface PartAsked {
  /** A mask, for a text that is JSON. */
  path?: string | undefined
  /** Text that lines, or items and members of JSON, contain; upper and lower case are the same. */
  grep?: string | undefined
  /** Characters before the part. Default 0 */
  offset?: number | undefined
  /** Characters of the part at most. */
  limit: number
}

/** The part, and how many characters there are of what `path` and `grep` leave. */
export type Part = { text: string; from: number; of: number } | { fault: string }

/** Reads a part of a text, in a time that grows with the length of the text. */
export async function partOf(whole: string, { path, grep, offset = 0, limit }: PartAsked): Promise<Part> {
  let text = whole
  if (path !== undefined || grep !== undefined) {
    await giveWay()
    let value = jsonIn(whole)
    await giveWay()
    if (path !== undefined) {
      const masks = compileMasks({ select: path })
      if (Array.isArray(masks)) return { fault: `\`path\` ${masks[0]?.fault}` }
      if (value === undefined) return { fault: '`path` is for JSON, which the result is not' }
      value = masks.apply(value)
      text = stringify(value)
    }
    if (grep !== undefined) text = await matching(value, text, grep.toLowerCase())
  }
  // A pair of surrogates stays together.
  const from = startOf(text, Math.min(offset, text.length))
  const end = startOf(text, Math.min(from + limit, text.length))
  return { text: text.slice(from, end), from, of: text.length }
}

function startOf(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return at > 0 && code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}

/** Empty: nothing contains the words. */
async function matching(value: Json | undefined, text: string, words: string): Promise<string> {
  if (value !== undefined) {
    const found = await matchingJson(value, words)
    return found === undefined ? '' : stringify(found)
  }
  const found: string[] = []
  for (const line of text.split('\n')) {
    if (line.toLowerCase().includes(words)) found.push(line)
    const pause = giveWay()
    if (pause) await pause
  }
  return found.join('\n')
}

/** The items of the outermost lists, and the other members, that contain the words; undefined: nothing does. */
async function matchingJson(value: Json, words: string): Promise<Json | undefined> {
  const has = (one: Json) => stringify(one).toLowerCase().includes(words)
  if (Array.isArray(value)) {
    const items: Json[] = []
    for (const item of value) {
      if (has(item)) items.push(item)
      const pause = giveWay()
      if (pause) await pause
    }
    return items.length > 0 ? items : undefined
  }
  if (!isObject(value)) return has(value) ? value : undefined
  const made: JsonObject = {}
  for (const [name, member] of Object.entries(value)) {
    const found = name.toLowerCase().includes(words) ? member : await matchingJson(member, words)
    if (found !== undefined) setOwn(made, name, found)
  }
  return Object.keys(made).length > 0 ? made : undefined
}
