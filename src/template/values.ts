import { sortKeys } from './bytes.ts'
import { execFault, Fault } from './errors.ts'
import type { Host } from './function.ts'
import { asMap, type Plain, Struct, typeName } from './kinds.ts'
import type { Span } from './nodes.ts'

/**
 * One field of a value, by the rules of Go's evalField.
 * @param hasArgs the field is given arguments, which only a method takes
 * @throws Fault
 */
export function field(receiver: unknown, name: string, hasArgs: boolean, go: boolean, span: Span): unknown {
  if (receiver === undefined) return undefined
  if (isPlain(receiver) && !hasArgs) return Object.hasOwn(receiver, name) ? receiver[name] : undefined
  if (receiver === null) {
    if (!go) return undefined
    throw execFault(`nil pointer evaluating interface {}.${name}`, span)
  }
  if (receiver instanceof Struct) {
    const found = receiver.get(name)
    if (!found) throw execFault(`can't evaluate field ${name} in type ${typeName(receiver)}`, span)
    if (hasArgs) throw execFault(`${name} has arguments but cannot be invoked as function`, span)
    return found.value
  }
  const map = asMap(receiver)
  if (!map) {
    throw execFault(
      `can't evaluate field ${name} in type ${typeName(receiver)}`,
      span,
      fieldHint(receiver, name),
    )
  }
  if (hasArgs)
    throw execFault(`${name} is not a method but has arguments`, span, 'a field takes no arguments')
  return Object.hasOwn(map, name) ? map[name] : undefined
}

/** An ordinary object, as most maps are: the short way. */
function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function fieldHint(receiver: unknown, name: string): string | undefined {
  if (!Array.isArray(receiver)) return undefined
  if (name === 'length') return 'write (len …)'
  return 'a list has items: use range or index'
}

const SMALL_INTS = Array.from({ length: 1024 }, (_, value) => BigInt(value))

/** An int, without making a new one each time. */
function smallInt(value: number): bigint {
  return SMALL_INTS[value] ?? BigInt(value)
}

/** What a range goes over. */
export interface Items {
  size: number
  key(at: number): unknown
  item(at: number): unknown
}

/** @throws Fault */
export function itemsOf(value: unknown, go: boolean, host: Host): Items {
  if (Array.isArray(value)) return { size: value.length, key: smallInt, item: (at) => value[at] ?? null }
  if (value === undefined || value === null) return { size: 0, key: smallInt, item: smallInt }
  const map = asMap(value)
  if (map) {
    const names = Object.keys(map)
    host.charge(names.length)
    sortKeys(names)
    return { size: names.length, key: (at) => names[at], item: (at) => map[names[at]!] ?? null }
  }
  const count = countOf(value, go)
  if (count === undefined) throw new Fault('exec', `range can't iterate over a ${typeName(value)}`)
  return { size: Number(count), key: smallInt, item: smallInt }
}

function countOf(value: unknown, go: boolean): bigint | undefined {
  if (typeof value === 'bigint') return value
  if (!go && typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  return undefined
}
