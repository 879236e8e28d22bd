import { ExactNumber } from '../json/index.ts'
import { compareBytes } from './bytes.ts'
import { execFault } from './errors.ts'
import { Byte, isNumber, kindOf, typeName } from './kinds.ts'
import { Complex } from './nodes.ts'

type BasicKind = 'bool' | 'int' | 'float' | 'complex' | 'string' | 'other'

function basicKind(value: unknown): BasicKind {
  const kind = kindOf(value)
  if (kind === 'uint') return 'int'
  return kind === 'bool' || kind === 'int' || kind === 'float' || kind === 'complex' || kind === 'string'
    ? kind
    : 'other'
}

const INCOMPATIBLE = 'incompatible types for comparison'

/** Go's `eq` of two values; in the dialect all numbers compare by value. */
export function equal(a: unknown, b: unknown, go: boolean): boolean {
  if (typeof a === 'string' && typeof b === 'string') return a === b
  const kind = basicKind(a)
  const other = basicKind(b)
  const nil = a === null || a === undefined || b === null || b === undefined
  if (kind !== other) {
    if (!go && isNumeric(a) && isNumeric(b)) return compareNumbers(a, b) === 0
    if (nil) return false
    throw execFault(`${INCOMPATIBLE}: ${typeName(a)} and ${typeName(b)}`, undefined, comparisonHint(a, b))
  }
  if (nil) return (a ?? null) === (b ?? null)
  if (kind === 'other') {
    throw execFault(`non-comparable type ${typeName(a)}`, undefined, 'compare their parts, or their toJSON')
  }
  if (a instanceof Complex && b instanceof Complex) return a.re === b.re && a.im === b.im
  return kind === 'int' || kind === 'float' ? compareNumbers(a, b) === 0 : a === b
}

/** Go's `lt`. */
export function less(a: unknown, b: unknown, go: boolean): boolean {
  const kind = basicKind(a)
  const other = basicKind(b)
  const basic = kind !== 'other' && other !== 'other'
  if (!basic) throw execFault('invalid type for comparison')
  if (kind !== other) {
    if (!go && isNumeric(a) && isNumeric(b)) return compareNumbers(a, b) === -1
    throw execFault(`${INCOMPATIBLE}: ${typeName(a)} and ${typeName(b)}`, undefined, comparisonHint(a, b))
  }
  if (kind === 'bool' || kind === 'complex') throw execFault('invalid type for comparison')
  if (kind === 'string') return compareBytes(a as string, b as string) < 0
  return compareNumbers(a, b) === -1
}

function isNumeric(value: unknown): boolean {
  return isNumber(value) || value instanceof Byte
}

/** -1, 0 or 1; NaN for NaN. Exact between ints and doubles. */
export function compareNumbers(a: unknown, b: unknown): number {
  const x = plain(a)
  const y = plain(b)
  if (x < y) return -1
  if (x > y) return 1
  return x >= y ? 0 : Number.NaN
}

function plain(value: unknown): number | bigint {
  if (value instanceof Byte) return value.value
  return value instanceof ExactNumber ? Number(value.text) : (value as number | bigint)
}

function comparisonHint(a: unknown, b: unknown): string | undefined {
  return typeof a === 'string' || typeof b === 'string'
    ? 'put quotes around a text, none around a number'
    : undefined
}
