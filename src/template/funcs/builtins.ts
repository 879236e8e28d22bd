import { ExactNumber } from '../../json/index.ts'
import { percentEncode, percentTable } from '../../text/index.ts'
import { execFault, Fault, typeFault } from '../errors.ts'
import { byteLength, byteSlice, compareBytes, isSurrogate, toBytes } from '../fmt/bytes.ts'
import { printDialect, printGo, sprintf } from '../fmt/print.ts'
import { Complex } from '../node.ts'
import type { Host } from '../types.ts'
import { asMap, Byte, isMissing, isNumber, kindOf, own, StringMap, truth, typeName } from '../values.ts'
import { chargeText, checkLength, define, type FunctionEntry } from './define.ts'

/** The functions of Go's text/template. `and` and `or` are compiled, as they evaluate lazily. */
export const builtins: readonly FunctionEntry[] = [
  define('and a:value more:value...', 'The first empty argument, else the last one', ([a]) => a),
  define('or a:value more:value...', 'The first argument that is not empty, else the last one', ([a]) => a),
  define('not a:value', 'True if the argument is empty', ([a]) => !truth(a)),
  define('eq a:value others:value...', 'True if a equals one of the others', ([a, ...others], host) => {
    if (others.length === 0) throw execFault('missing argument for comparison')
    return others.some((other) => equal(a, other, host.go))
  }),
  define('ne a:value b:value', 'True if a and b differ', ([a, b], host) => !equal(a, b, host.go)),
  define('lt a:value b:value', 'True if a is less than b', ([a, b], host) => less(a, b, host.go)),
  define('le a:value b:value', 'True if a is less than or equal to b', ([a, b], host) =>
    lessOrEqual(a, b, host),
  ),
  define('gt a:value b:value', 'True if a is greater than b', ([a, b], host) => !lessOrEqual(a, b, host)),
  define(
    'ge a:value b:value',
    'True if a is greater than or equal to b',
    ([a, b], host) => !less(a, b, host.go),
  ),
  define(
    'len value:value',
    'Bytes of a string, items of an array, or members of an object',
    ([value], host) => length(value, host),
  ),
  define(
    'index value:value keys:value...',
    'An item of an array by number, or a member of an object by key',
    index,
  ),
  define('slice value:value from:value...', 'A part of a string (in bytes) or array', slice),
  define(
    'print values:any...',
    'The values as a string, with spaces between two that are not strings',
    sprint,
  ),
  define(
    'println values:any...',
    'The values as a string, with spaces between them and a line break at the end',
    (args, host) => withinLimit(`${args.map((arg) => textToPrint(arg, host)).join(' ')}\n`, host),
  ),
  define(
    'printf format values:any...',
    'The values in a format such as %s, %d or %05.2f',
    ([format, ...values], host) => {
      if (!host.go) for (const value of values) if (isMissing(value)) host.missing()
      return sprintf(format, values, host)
    },
  ),
  define(
    'html values:any...',
    'The values as a string, escaped for HTML',
    (args, host) => escapeHtml(evalArgs(args, host)),
    'html',
  ),
  define('js values:any...', 'The values as a string, escaped for JavaScript strings', (args, host) =>
    evalArgs(args, host).replace(JS, escapeJs),
  ),
  define(
    'urlquery values:any...',
    'The values as a string, escaped for a URL’s query',
    (args, host) => queryEscape(evalArgs(args, host)),
    'url',
  ),
  define('call function:value args:value...', 'Calls a value that is a function', call),
].flat()

function lessOrEqual(a: unknown, b: unknown, host: Host): boolean {
  return less(a, b, host.go) || equal(a, b, host.go)
}

function length(value: unknown, host: Host): bigint {
  if (typeof value === 'string') return BigInt(byteLength(value))
  if (Array.isArray(value)) return BigInt(value.length)
  const map = asMap(value)
  if (map) {
    const size = Object.keys(map).length
    host.charge(size >> 2)
    return BigInt(size)
  }
  if (isMissing(value)) throw new Fault('exec', 'len of a missing value', undefined, GUARD)
  throw typeFault(`len of type ${typeName(value)}`)
}

const GUARD = 'guard it with {{if …}}, or give a default'

/** Reads an item or member, as Go's `index` does. */
function item(value: unknown, key: unknown, go: boolean): unknown {
  if (isMissing(value)) throw execFault('index of nil pointer', undefined, GUARD)
  if (Array.isArray(value) || typeof value === 'string') {
    const bytes = typeof value === 'string' ? toBytes(value) : undefined
    const size = bytes ? bytes.length : (value as unknown[]).length
    const at = position(key, size, go)
    if (at === size) throw execFault('index out of range')
    return bytes ? new Byte(bytes[at]!) : ((value as unknown[])[at] ?? null)
  }
  const map = asMap(value)
  if (!map) throw typeFault(`can't index item of type ${typeName(value)}`)
  if (isMissing(key)) throw execFault('value is nil; should be string')
  if (typeof key !== 'string') throw typeFault(`value has type ${typeName(key)}; should be string`)
  return own(map, key) ?? (value instanceof StringMap ? '' : null)
}

function index([value, ...keys]: unknown[], host: Host): unknown {
  if (isMissing(value)) throw execFault('index of untyped nil', undefined, GUARD)
  return keys.reduce((found, key) => item(found, key, host.go), value)
}

function position(key: unknown, size: number, go: boolean): number {
  let at: number
  if (typeof key === 'bigint') at = Number(key)
  else if (key instanceof Byte) at = key.value
  else if (!go && typeof key === 'number' && Number.isInteger(key)) at = key
  else if (isMissing(key)) throw execFault('cannot index slice/array with nil')
  else throw typeFault(`cannot index slice/array with type ${typeName(key)}`)
  if (at < 0 || at > size) throw execFault('index out of range')
  return at
}

function slice([value, ...keys]: unknown[], host: Host): unknown {
  if (isMissing(value)) throw execFault('slice of untyped nil', undefined, GUARD)
  if (keys.length > 3) throw execFault(`too many slice indexes: ${keys.length}`)
  const text = typeof value === 'string'
  if (text && keys.length === 3) throw execFault('cannot 3-index slice a string')
  if (!text && !Array.isArray(value)) throw typeFault(`can't slice item of type ${typeName(value)}`)
  const size = text ? byteLength(value) : value.length
  const [from = 0, to = size, cap] = keys.map((key) => position(key, size, host.go))
  if (from > to) throw execFault('invalid slice index')
  if (cap !== undefined && to > cap) throw execFault('invalid slice index')
  return text ? byteSlice(value, from, to) : value.slice(from, to)
}

/** The text of a value for `print`. */
function textToPrint(value: unknown, host: Host): string {
  if (host.go) return printGo(value)
  if (isMissing(value)) host.missing()
  return chargeText(value, printDialect(value), host)
}

/** Go's fmt.Sprint. */
function sprint(args: readonly unknown[], host: Host): string {
  let out = ''
  args.forEach((arg, at) => {
    if (at > 0 && typeof arg !== 'string' && typeof args[at - 1] !== 'string') out += ' '
    out += textToPrint(arg, host)
  })
  return withinLimit(out, host)
}

function evalArgs(args: readonly unknown[], host: Host): string {
  if (args.length === 1 && typeof args[0] === 'string') return args[0]
  if (!host.go) return sprint(args, host)
  return sprint(
    args.map((arg) => (isMissing(arg) ? '<no value>' : arg)),
    host,
  )
}

function withinLimit(text: string, host: Host): string {
  checkLength(text.length, host)
  return text
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('\0', '\ufffd')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll("'", '&#39;')
    .replaceAll('"', '&#34;')
}

const JS = /[\0-\x1f\\'"<>&=]|[^\x7f\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

function escapeJs(char: string): string {
  if ('\\\'"'.includes(char)) return `\\${char}`
  const code = char.codePointAt(0)!
  return isSurrogate(code) ? char : `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`
}

const QUERY = percentTable(/[\w.~-]/)
QUERY[0x20] = 0x2b

/** Go's url.QueryEscape: spaces become `+`. */
function queryEscape(text: string): string {
  return percentEncode(toBytes(text), QUERY)
}

function call([fn, ...args]: unknown[]): unknown {
  if (isMissing(fn)) throw execFault('call of nil')
  if (typeof fn !== 'function') throw execFault(`non-function of type ${typeName(fn)}`)
  if (args.length !== 1) throw execFault(`wrong number of args: got ${args.length} want 1`)
  if (typeof args[0] !== 'string')
    throw execFault(`arg 0: value has type ${typeName(args[0])}; should be string`)
  return (fn as (name: string) => unknown)(args[0])
}

/** The kind for comparisons; `other` is not comparable. */
function basicKind(value: unknown): string {
  const kind = kindOf(value)
  if (kind === 'uint') return 'int'
  return ['bool', 'int', 'float', 'complex', 'string'].includes(kind) ? kind : 'other'
}

const INCOMPATIBLE = 'incompatible types for comparison'

/** Go's `eq` of two values; in the dialect all numbers compare by value. */
function equal(a: unknown, b: unknown, go: boolean): boolean {
  if (typeof a === 'string' && typeof b === 'string') return a === b
  const kind = basicKind(a)
  const other = basicKind(b)
  const nil = isMissing(a) || isMissing(b)
  if (kind !== other) {
    if (!go && isNumeric(a) && isNumeric(b)) return compareNumbers(a, b) === 0
    if (nil) return false
    throw typeFault(`${INCOMPATIBLE}: ${typeName(a)} and ${typeName(b)}`, undefined, comparisonHint(a, b))
  }
  if (nil) return (a ?? null) === (b ?? null)
  if (kind === 'other') {
    throw typeFault(`non-comparable type ${typeName(a)}`, undefined, 'compare their parts, or their toJSON')
  }
  if (a instanceof Complex && b instanceof Complex) return a.re === b.re && a.im === b.im
  return kind === 'int' || kind === 'float' ? compareNumbers(a, b) === 0 : a === b
}

/** Go's `lt`. */
function less(a: unknown, b: unknown, go: boolean): boolean {
  const kind = basicKind(a)
  const other = basicKind(b)
  if (kind === 'other' || other === 'other') throw typeFault('invalid type for comparison')
  if (kind !== other) {
    if (!go && isNumeric(a) && isNumeric(b)) return compareNumbers(a, b) === -1
    throw typeFault(`${INCOMPATIBLE}: ${typeName(a)} and ${typeName(b)}`, undefined, comparisonHint(a, b))
  }
  if (kind === 'bool' || kind === 'complex') throw typeFault('invalid type for comparison')
  if (kind === 'string') return compareBytes(a as string, b as string) < 0
  return compareNumbers(a, b) === -1
}

function isNumeric(value: unknown): boolean {
  return isNumber(value) || value instanceof Byte
}

/** -1, 0 or 1; NaN for NaN. Exact between ints and doubles. */
function compareNumbers(a: unknown, b: unknown): number {
  const x = numberOf(a)
  const y = numberOf(b)
  if (x < y) return -1
  if (x > y) return 1
  return x >= y ? 0 : Number.NaN
}

function numberOf(value: unknown): number | bigint {
  if (value instanceof Byte) return value.value
  return value instanceof ExactNumber ? Number(value.text) : (value as number | bigint)
}

function comparisonHint(a: unknown, b: unknown): string | undefined {
  return typeof a === 'string' || typeof b === 'string' ? 'quote strings, do not quote numbers' : undefined
}
