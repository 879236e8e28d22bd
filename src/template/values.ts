import { ExactNumber } from '../json/index.ts'
import { execFault, typeFault } from './errors.ts'
import { sortKeys } from './fmt/bytes.ts'
import { GoTime } from './fmt/time.ts'
import { Complex, type Span } from './node.ts'
import type { Host, Roots } from './types.ts'

/**
 * Representation of Go's values: int is bigint, float64 number, string string (see bytes.ts), map a plain object, slice
 * an array, nil null, and a missing value (Go's invalid reflect.Value) undefined.
 */

/** Go's uint8, the result of indexing a string. */
export class Byte {
  constructor(readonly value: number) {}
}

/** The root as a closed struct, or a part of it, with the fields of `roots` in order. */
export class Struct {
  constructor(
    readonly roots: Roots,
    readonly data: Record<string, unknown>,
    readonly name: string,
  ) {}

  has(field: string): boolean {
    return Object.hasOwn(this.roots, field)
  }

  /** The value of an existing field. */
  get(field: string): unknown {
    const value = own(this.data, field)
    const type = this.roots[field]!
    if (type === true) return value === undefined ? null : value
    if (type === 'string') return value ?? ''
    const map = (value ?? {}) as Plain
    if (type === 'map') return map
    return type === 'strings' ? new StringMap(map) : new Struct(type, map, `main.${field}`)
  }

  entries(): [string, unknown][] {
    return Object.keys(this.roots).map((field) => [field, this.get(field)])
  }
}

/** A map of strings: an unknown key yields the empty string. */
export class StringMap {
  constructor(readonly data: Record<string, unknown>) {}
}

export type Plain = Record<string, unknown>

export function own(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? (object as Plain)[key] : undefined
}

/** Whether a value is missing or nil. */
export function isMissing(value: unknown): value is null | undefined {
  return value === undefined || value === null
}

export function isNumber(value: unknown): value is number | bigint | ExactNumber {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof ExactNumber
}

/** The members of a map, including one of strings; undefined for other values. */
export function asMap(value: unknown): Plain | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  if (value instanceof StringMap) return value.data
  if (isScalarObject(value) || value instanceof Struct) return undefined
  return value as Plain
}

function isScalarObject(value: object): boolean {
  return (
    value instanceof ExactNumber ||
    value instanceof Complex ||
    value instanceof Byte ||
    value instanceof GoTime
  )
}

type Kind =
  | 'invalid'
  | 'bool'
  | 'int'
  | 'uint'
  | 'float'
  | 'complex'
  | 'string'
  | 'slice'
  | 'map'
  | 'struct'
  | 'func'

export function kindOf(value: unknown): Kind {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'float'
    case 'string':
      return 'string'
    case 'function':
      return 'func'
    case 'object':
      if (value === null) return 'invalid'
      if (Array.isArray(value)) return 'slice'
      if (value instanceof Struct || value instanceof GoTime) return 'struct'
      if (value instanceof ExactNumber) return 'float'
      if (value instanceof Byte) return 'uint'
      return value instanceof Complex ? 'complex' : 'map'
    default:
      return 'invalid'
  }
}

const TYPE_NAMES: Record<Kind, string> = {
  invalid: '<nil>',
  bool: 'bool',
  int: 'int',
  uint: 'uint8',
  float: 'float64',
  complex: 'complex128',
  string: 'string',
  slice: '[]interface {}',
  map: 'map[string]interface {}',
  struct: 'struct',
  func: 'func(string) string',
}

/** Lists with a known Go item type. */
const typedLists = new WeakMap<object, string>()

/** Sets the Go type of a function's list, such as `[]string`. */
export function typedList<T>(type: string, items: T[]): T[] {
  typedLists.set(items, type)
  return items
}

/** Go's name of the value's type. */
export function typeName(value: unknown): string {
  if (value instanceof StringMap) return 'map[string]string'
  if (value instanceof Struct) return value.name
  if (value instanceof GoTime) return 'time.Time'
  const kind = kindOf(value)
  return (kind === 'slice' && typedLists.get(value as object)) || TYPE_NAMES[kind]
}

/** Maps known to have members, as finding the first one is slow in large maps. */
const filled = new WeakSet<object>()

function hasMembers(map: object): boolean {
  if (filled.has(map)) return true
  for (const key in map) {
    if (!Object.hasOwn(map, key)) continue
    filled.add(map)
    return true
  }
  return false
}

/** Removes a member. */
export function removeMember(map: Plain, key: string): void {
  delete map[key]
  filled.delete(map)
}

/** Go's truth: not the type's zero value. */
export function truth(value: unknown): boolean {
  if (typeof value === 'bigint') return value !== 0n
  if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value)) return value.length > 0
    if (value instanceof Struct || value instanceof GoTime) return true
    if (value instanceof ExactNumber)
      return Number(value.text) !== 0 || /[1-9]/.test(value.text.split(/e/i)[0]!)
    if (value instanceof Byte) return value.value !== 0
    if (value instanceof Complex) return value.re !== 0 || value.im !== 0
    return hasMembers(value instanceof StringMap ? value.data : value)
  }
  // NaN is not zero.
  return typeof value === 'number' ? value !== 0 : Boolean(value)
}

/**
 * One field of a value, by the rules of Go's evalField.
 * @param hasArgs whether the field gets arguments, which only methods accept
 * @throws Fault
 */
export function field(receiver: unknown, name: string, hasArgs: boolean, go: boolean, span: Span): unknown {
  if (receiver === undefined) return undefined
  if (receiver === null) {
    if (!go) return undefined
    throw execFault(`nil pointer evaluating interface {}.${name}`, span)
  }
  if (receiver instanceof Struct) {
    if (!receiver.has(name))
      throw typeFault(`can't evaluate field ${name} in type ${typeName(receiver)}`, span)
    if (hasArgs) throw execFault(`${name} has arguments but cannot be invoked as function`, span)
    return receiver.get(name)
  }
  const map = asMap(receiver)
  if (!map) {
    const message = `can't evaluate field ${name} in type ${typeName(receiver)}`
    throw typeFault(message, span, fieldHint(receiver, name))
  }
  if (hasArgs)
    throw execFault(`${name} is not a method but has arguments`, span, 'a field takes no arguments')
  return own(map, name)
}

function fieldHint(receiver: unknown, name: string): string | undefined {
  if (!Array.isArray(receiver)) return undefined
  if (name === 'length') return 'write (len …)'
  return 'a list has items: use range or index'
}

/** The items of a range. */
export interface Items {
  size: number
  key(at: number): unknown
  item(at: number): unknown
}

/** @throws Fault */
export function itemsOf(value: unknown, go: boolean, host: Host): Items {
  if (Array.isArray(value)) return { size: value.length, key: BigInt, item: (at) => value[at] ?? null }
  if (isMissing(value)) return { size: 0, key: BigInt, item: BigInt }
  const map = asMap(value)
  if (map) {
    const names = Object.keys(map)
    host.charge(names.length)
    sortKeys(names)
    return { size: names.length, key: (at) => names[at], item: (at) => map[names[at]!] ?? null }
  }
  const isCount = typeof value === 'bigint' || (!go && typeof value === 'number' && Number.isInteger(value))
  if (!isCount) throw typeFault(`range can't iterate over a ${typeName(value)}`)
  return { size: Number(value), key: BigInt, item: BigInt }
}
