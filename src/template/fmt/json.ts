import { ExactNumber } from '../../json/index.ts'
import { Fault } from '../errors.ts'
import { Complex } from '../node.ts'
import { DEFAULT_TEMPLATE_LIMITS } from '../types.ts'
import { asMap, Byte, type Struct } from '../values.ts'
import { sortKeys } from './bytes.ts'
import { formatFloat } from './numbers.ts'
import { GoTime } from './time.ts'

/** Maximum UTF-16 units, as a list may contain one long text many times. */
const MAX_TEXT = 2 * DEFAULT_TEMPLATE_LIMITS.output
/** Items and members written so far. */
let itemsWritten = 0

const HTML = /[<>&\u2028\u2029]/g

/**
 * Writes JSON as Go's encoding/json does: keys in byte order, exact numbers.
 * @param html also escape `<`, `>`, `&`, U+2028 and U+2029, and write -0, as json.Marshal does by default
 * @param indented each item and member on its own line
 * @throws Fault `exec` for values outside JSON, `limit` if too deep or large
 */
export function toJson(value: unknown, html: boolean, indented = false, depth = 0): string {
  switch (typeof value) {
    case 'string': {
      const text = JSON.stringify(value)
      return html ? text.replace(HTML, escapeHtml) : text
    }
    case 'number':
      if (!Number.isFinite(value)) throw new Fault('exec', `JSON has no ${formatFloat(value, 'g')}`)
      return html && Object.is(value, -0) ? '-0' : String(value)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'object': {
      if (value === null) return 'null'
      if (value instanceof ExactNumber) return value.text
      if (value instanceof Byte) return String(value.value)
      if (value instanceof GoTime) return JSON.stringify(value.toJSON())
      if (value instanceof Complex) throw new Fault('exec', 'JSON has no complex numbers')
      if (depth === 0) itemsWritten = 0
      if (Array.isArray(value)) return jsonList(value, html, indented, depth)
      const map = asMap(value)
      if (!map) return jsonMap((value as Struct).entries(), html, indented, depth)
      const keys = sortKeys(Object.keys(map))
      return jsonMap(
        keys.map((key) => [key, map[key]]),
        html,
        indented,
        depth,
      )
    }
    case 'function':
      throw new Fault('exec', 'JSON has no functions')
    default:
      return 'null'
  }
}

function jsonList(list: readonly unknown[], html: boolean, indented: boolean, depth: number): string {
  countItems(list.length, depth)
  // Native serialization is faster.
  if (!html && !indented && list.every(isPlainScalar)) return bounded(JSON.stringify(list))
  return enclosed('[]', list, (item) => toJson(item, html, indented, depth + 1), indented, depth)
}

function jsonMap(members: [string, unknown][], html: boolean, indented: boolean, depth: number): string {
  countItems(members.length, depth)
  const colon = indented ? ': ' : ':'
  const write = ([key, member]: [string, unknown]) =>
    toJson(key, html) + colon + toJson(member, html, indented, depth + 1)
  return enclosed('{}', members, write, indented, depth)
}

/** Items or members in brackets, each on its own line if `indented`. */
function enclosed<Part>(
  brackets: '[]' | '{}',
  parts: readonly Part[],
  write: (part: Part) => string,
  indented: boolean,
  depth: number,
): string {
  if (parts.length === 0) return brackets
  const line = indented ? `\n${'  '.repeat(depth)}` : ''
  const before = indented ? `${line}  ` : ''
  let text = ''
  for (const part of parts) text = bounded(text + (text === '' ? before : `,${before}`) + write(part))
  return brackets[0] + text + line + brackets[1]
}

function countItems(more: number, depth: number): void {
  if (depth > 1000) throw new Fault('limit', `a value is nested deeper than 1000`)
  itemsWritten += more
  // A list that contains itself several times could have more items than memory.
  if (itemsWritten > 1_000_000) throw new Fault('limit', `a value has more than 1000000 items`)
}

/** @throws Fault `limit` */
function bounded(text: string): string {
  if (text.length > MAX_TEXT) throw new Fault('limit', `the text of a value is longer than ${MAX_TEXT}`)
  return text
}

/** Values for which JSON.stringify equals `toJson`. */
function isPlainScalar(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}

function escapeHtml(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}
