import { Fault } from '../errors.ts'
import { withoutLone } from '../fmt/bytes.ts'
import { printDialect } from '../fmt/print.ts'
import type { Host } from '../types.ts'
import { asMap, type Plain } from '../values.ts'
import { keysOf } from './convert.ts'
import { checkLength } from './define.ts'

/** Maximum nesting. */
const MAX_DEPTH = 100

/**
 * Writes an object as pairs of a query or form, like OpenAPI's `deepObject` and as read by qs, Rails, PHP and jQuery:
 * `a[b]=1`, `a[]=1` for scalar items, `a[0][b]=1` for nested ones. Keys are sorted; null and empty values are omitted.
 * @throws Fault `limit` if too deep or long
 */
export function toQuery(map: Plain, host: Host): string {
  const pairs: string[] = []
  let length = 0
  const add = (key: string, value: unknown, depth: number): void => {
    if (value === null || value === undefined) return
    if (depth > MAX_DEPTH) throw new Fault('limit', `a value has more than ${MAX_DEPTH} levels`)
    const inner = Array.isArray(value) ? undefined : asMap(value)
    if (inner) {
      for (const name of keysOf(inner, host)) add(`${key}[${name}]`, inner[name], depth + 1)
    } else if (Array.isArray(value)) {
      const indexed = value.some((item) => Array.isArray(item) || asMap(item))
      const base = key.endsWith('[]') ? key.slice(0, -2) : key
      for (const [i, item] of value.entries()) add(`${base}[${indexed ? i : ''}]`, item, depth + 1)
    } else {
      const pair = `${encode(key)}=${encode(printDialect(value))}`
      length += pair.length + 1
      host.charge(1 + (pair.length >> 6))
      checkLength(length, host)
      pairs.push(pair)
    }
  }
  for (const name of keysOf(map, host)) add(name, map[name], 0)
  return pairs.join('&')
}

function encode(text: string): string {
  return encodeURIComponent(withoutLone(text))
}
