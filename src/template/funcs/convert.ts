import { parse } from '../../json/index.ts'
import { execFault } from '../errors.ts'
import { sortKeys } from '../fmt/bytes.ts'
import { printDialect, printGo } from '../fmt/print.ts'
import { parseFloatText, parseInteger } from '../fmt/strconv.ts'
import type { Host } from '../types.ts'
import { asMap, isMissing, isNumber, kindOf, type Plain } from '../values.ts'
import { chargeText } from './define.ts'

/** Sprig's conversions to text, numbers, lists and maps. */

export function toText(value: unknown, host: Host): string {
  if (typeof value === 'string') return value
  return chargeText(value, host.go ? printGo(value) : printDialect(value), host)
}

/** The value of JSON text. @throws SyntaxError */
export function parseJson(text: string, host: Host): unknown {
  return host.go ? JSON.parse(text) : parse(text)
}

export function int64(value: bigint): bigint {
  return BigInt.asIntN(64, value)
}

/** 0 for a value that is not a number, as in Sprig. */
export function toInt(value: unknown): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'string') {
    // Longer texts exceed int64, and parsing them would be slow.
    if (value.length > 100) return 0n
    const text = value.replace(/\.0*$/, '').replace(/^([+-]?)0+(?=\d)/, '$1')
    return int64(parseInteger(text) ?? 0n)
  }
  const number = isNumber(value) ? Number(value) : 0
  return Number.isFinite(number) ? int64(BigInt(Math.trunc(number))) : 0n
}

export function toFloat(value: unknown): number {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'string') return parseFloatText(value) ?? 0
  return isNumber(value) ? Number(value) : 0
}

/** A list's items; nil is an empty list in the dialect. @throws Fault for other values */
export function toList(value: unknown, host: Host, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  if (!host.go && isMissing(value)) return []
  throw execFault(`cannot find ${what} on type ${kindOf(value)}`)
}

/** The texts of a list without nil items; a single value is a list of one. */
export function toTexts(value: unknown, host: Host): string[] {
  if (isMissing(value)) return []
  if (!Array.isArray(value)) return [toText(value, host)]
  host.charge(value.length >> 2)
  return value.filter((item) => !isMissing(item)).map((item) => toText(item, host))
}

/** Maps created by a template, which it may change. */
const madeByTemplates = new WeakSet<object>()

/** An empty map without a prototype, so that any key is ordinary. */
export function newMap(): Plain {
  const map = Object.create(null) as Plain
  madeByTemplates.add(map)
  return map
}

/** A mutable map: itself if created by a template, else a copy. Input is never changed. */
export function writable(map: Plain, host: Host): Plain {
  return madeByTemplates.has(map) ? map : copyMap(map, host)
}

export function copyMap(map: Plain, host: Host): Plain {
  const copy = newMap()
  for (const key of keysOf(map, host)) copy[key] = map[key]
  return copy
}

/** The keys in Go's order, charged by number. */
export function keysOf(map: object, host: Host): string[] {
  const keys = Object.keys(map)
  host.charge(keys.length)
  return sortKeys(keys)
}

export function deepCopy(value: unknown, host: Host, depth = 0): unknown {
  host.charge(1)
  if (depth > 1000) throw execFault('a value is nested too deeply')
  if (Array.isArray(value)) return value.map((item) => deepCopy(item, host, depth + 1))
  const map = asMap(value)
  if (!map) return value
  const copy = newMap()
  for (const key of Object.keys(map)) copy[key] = deepCopy(map[key], host, depth + 1)
  return copy
}

/** Go's reflect.DeepEqual. */
export function deepEqual(a: unknown, b: unknown, host: Host): boolean {
  host.charge(1)
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, at) => deepEqual(item, b[at], host))
  }
  const left = asMap(a)
  const right = asMap(b)
  if (left && right) {
    const keys = Object.keys(left)
    return (
      keys.length === Object.keys(right).length &&
      keys.every((key) => Object.hasOwn(right, key) && deepEqual(left[key], right[key], host))
    )
  }
  if (!host.go && isNumber(a) && isNumber(b)) return String(a) === String(b)
  if (typeof a === 'string' && typeof b === 'string' && a.length === b.length) host.charge(a.length >> 8)
  return a === b || ((a ?? null) === null && (b ?? null) === null)
}
