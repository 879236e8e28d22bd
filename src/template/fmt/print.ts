import { ExactNumber } from '../../json/index.ts'
import { Fault } from '../errors.ts'
import { Complex } from '../node.ts'
import { DEFAULT_TEMPLATE_LIMITS } from '../types.ts'
import { asMap, Byte, type Plain, Struct } from '../values.ts'
import { sortedKeys, sortKeys } from './bytes.ts'
import { formatShortest } from './strconv.ts'
import { GoTime } from './time.ts'

/** Composite values deeper than this are refused. */
const MAX_DEPTH = 1000

/** A list that holds itself several times over may have more items than memory. */
const MAX_ITEMS = 1_000_000
let items = 0
/** One that holds the same long text many times, too. */
const MAX_TEXT = 2 * DEFAULT_TEMPLATE_LIMITS.output

/** @throws Fault `limit` */
function bounded(text: string): string {
  if (text.length > MAX_TEXT) throw new Fault('limit', `the text of a value is longer than ${MAX_TEXT}`)
  return text
}

/** Looks at a value that is printed now; depth 0 begins. @throws Fault `limit` */
function visit(depth: number): void {
  if (depth === 0) items = 0
  if (depth > MAX_DEPTH) throw new Fault('limit', `a value is nested deeper than ${MAX_DEPTH}`)
}

/** Counts items of a list or map within. @throws Fault `limit` */
function count(more: number): void {
  items += more
  if (items > MAX_ITEMS) throw new Fault('limit', `a value has more than ${MAX_ITEMS} items`)
}

/** Prints as Go's `%v`; nil and missing as `<nil>`. */
export function printGo(value: unknown, depth = 0): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
      return formatShortest(value)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'object': {
      if (value === null) return '<nil>'
      visit(depth)
      if (Array.isArray(value)) {
        count(value.length)
        return `[${value.map((item) => printGo(item, depth + 1)).join(' ')}]`
      }
      if (value instanceof Struct) {
        return `{${value
          .entries()
          .map(([, field]) => printGo(field, depth + 1))
          .join(' ')}}`
      }
      const map = asMap(value)
      if (!map) return printScalar(value)
      const keys = sortedKeys(map)
      count(keys.length)
      return `map[${keys.map((key) => `${key}:${printGo(map[key], depth + 1)}`).join(' ')}]`
    }
    case 'function':
      return '0x1'
    default:
      return '<nil>'
  }
}

function printScalar(value: object): string {
  if (value instanceof ExactNumber) return formatShortest(Number(value.text))
  if (value instanceof Byte) return String(value.value)
  if (value instanceof Complex) {
    const im = formatShortest(value.im)
    return `(${formatShortest(value.re)}${/^[+-]/.test(im) ? im : `+${im}`}i)`
  }
  return value instanceof GoTime ? value.toString() : ''
}

/**
 * Prints in the gateway's dialect: numbers as JSON writes them, composite values as JSON, nothing for nil and
 * missing.
 */
export function printDialect(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
      return Number.isFinite(value) ? String(value) : formatShortest(value)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'object':
      if (value === null) return ''
      if (value instanceof ExactNumber) return value.text
      if (value instanceof GoTime) return value.toJSON()
      return value instanceof Byte || value instanceof Complex ? printScalar(value) : toJson(value, false)
    default:
      return ''
  }
}

const HTML = /[<>&\u2028\u2029]/g

/**
 * Writes JSON as Go's encoding/json does: keys in order of their bytes, exact numbers as they are.
 * @param html also escape `<`, `>`, `&`, U+2028 and U+2029, as json.Marshal does by default
 */
export function toJson(value: unknown, html: boolean, depth = 0): string {
  switch (typeof value) {
    case 'string': {
      const text = JSON.stringify(value)
      return html ? text.replace(HTML, escapeHtml) : text
    }
    case 'number':
      return html ? goJsonNumber(value) : jsonNumber(value)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'object': {
      if (value === null) return 'null'
      visit(depth)
      if (Array.isArray(value)) return jsonArray(value, html, depth)
      if (value instanceof ExactNumber) return value.text
      if (value instanceof Byte) return String(value.value)
      if (value instanceof GoTime) return JSON.stringify(value.toJSON())
      if (value instanceof Complex) throw new Fault('exec', 'JSON has no complex numbers')
      if (value instanceof Struct) return jsonStruct(value, html, depth)
      return jsonMap(asMap(value)!, html, depth)
    }
    case 'function':
      throw new Fault('exec', 'JSON has no functions')
    default:
      return 'null'
  }
}

function jsonArray(list: readonly unknown[], html: boolean, depth: number): string {
  count(list.length)
  if (!html && list.every(isPlainScalar)) return bounded(JSON.stringify(list))
  let text = '['
  for (let at = 0; at < list.length; at++) {
    text = bounded(text + (at > 0 ? ',' : '') + toJson(list[at], html, depth + 1))
  }
  return `${text}]`
}

/** What JSON.stringify writes as `toJson` does, and faster where there is much of it. */
function isPlainScalar(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}

/** The keys of a map, and in their order with their texts. */
interface Shape {
  html: boolean
  keys: readonly string[]
  sorted: readonly string[]
  heads: readonly string[]
}

/** The last one at each depth: the items of a list mostly have the same keys. */
const shapes: (Shape | undefined)[] = []

function shapeOf(map: Plain, html: boolean, depth: number): Shape {
  const keys = Object.keys(map)
  const last = shapes[depth]
  if (
    last?.html === html &&
    last.keys.length === keys.length &&
    last.keys.every((key, at) => key === keys[at])
  ) {
    return last
  }
  const sorted = sortKeys(keys.slice())
  const heads = sorted.map((key, at) => `${at > 0 ? ',' : ''}${toJson(key, html)}:`)
  const shape = { html, keys, sorted, heads }
  // Large ones are not kept alive.
  if (keys.length <= 64) shapes[depth] = shape
  return shape
}

function jsonMap(map: Plain, html: boolean, depth: number): string {
  const { sorted, heads } = shapeOf(map, html, depth)
  count(sorted.length)
  let text = '{'
  for (let at = 0; at < sorted.length; at++) {
    text = bounded(text + heads[at]! + toJson(map[sorted[at]!], html, depth + 1))
  }
  return `${text}}`
}

function jsonStruct(struct: Struct, html: boolean, depth: number): string {
  const members = struct
    .entries()
    .map(([key, member]) => `${toJson(key, html)}:${toJson(member, html, depth + 1)}`)
  return `{${members.join(',')}}`
}

function escapeHtml(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function jsonNumber(value: number): string {
  if (!Number.isFinite(value)) throw new Fault('exec', `JSON has no ${formatShortest(value)}`)
  return String(value)
}

/** encoding/json writes -0, and exponents of two digits from 1e21 on. */
function goJsonNumber(value: number): string {
  return Object.is(value, -0) ? '-0' : jsonNumber(value)
}
