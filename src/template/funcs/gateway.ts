import { execFault, Fault, typeFault } from '../errors.ts'
import { withoutLone } from '../fmt/bytes.ts'
import { toJson } from '../fmt/json.ts'
import { printDialect } from '../fmt/print.ts'
import type { Host } from '../types.ts'
import { asMap, isMissing, own, type Plain, Struct, typeName } from '../values.ts'
import { keysOf, parseJson } from './convert.ts'
import { chargeText, checkLength, define, type FunctionEntry } from './define.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The gateway's additions to Go's functions. `env` reads the compile-time environment. */
export function gatewayFunctions(env: Environment): FunctionEntry[] {
  return [
    define(
      'toJSON value:any',
      'The value as JSON',
      ([value], host) => chargeText(value, toJson(value, host.go), host),
      'json',
    ),
    define(
      'fromJSON value:any',
      'The value of a string of JSON; an empty object for other strings; a value that is not a string unchanged',
      ([value], host) => fromJson(value, host),
    ),
    define(
      'toQuery value:map',
      'The members as pairs of a query or form: a=1&b[c]=2, with b[]=3 for the items of a list; null is left out',
      ([value], host) => toQuery(value, host),
      'url',
    ),
    define(
      'env name default...',
      'An environment variable, read when the file is loaded',
      ([name, ...defaults]) => {
        if (defaults.length > 1) throw execFault(`env: want 1 or 2 args, got ${defaults.length + 1}`)
        return (Object.hasOwn(env, name) ? env[name] : undefined) ?? defaults[0] ?? ''
      },
    ),
    define(
      'safeGet path value:any',
      'The value at a path such as a.0.b; null if it ends early',
      ([path, value]) => walk(path, value),
    ),
    define(
      'safeGetOr path value:any default:any',
      'The value at a path such as a.0.b, else the default',
      ([path, value, otherwise]) => walk(path, value) ?? otherwise,
    ),
    define('raw value:any', 'The value without any escaping', ([value]) => value, 'raw'),
  ].flat()
}

/** Answers may contain values that other gateways pass as JSON text: parsed values are returned unchanged. */
function fromJson(value: unknown, host: Host): unknown {
  if (typeof value === 'string') {
    try {
      return parseJson(value, host)
    } catch {
      return {}
    }
  }
  if (host.go) throw typeFault(`wrong type for value; expected string; found ${typeName(value)}`)
  if (!isMissing(value)) return value
  host.missing()
  return {}
}

/** Follows a path of names and list indexes; null if it ends early. */
function walk(path: string, value: unknown): unknown {
  let current = value
  for (const name of path.split('.')) {
    if (Array.isArray(current)) {
      current = /^[+-]?\d+$/.test(name) ? current[Number(name)] : undefined
    } else if (current instanceof Struct) current = current.has(name) ? current.get(name) : undefined
    else {
      const map = asMap(current)
      current = map && own(map, name)
    }
    if (isMissing(current)) return null
  }
  return current
}

/**
 * Writes an object as pairs of a query or form, like OpenAPI's `deepObject` and as read by qs, Rails, PHP and jQuery:
 * `a[b]=1`, `a[]=1` for scalar items, `a[0][b]=1` for nested ones. Keys are sorted; null and empty values are omitted.
 * @throws Fault `limit` if too deep or long
 */
function toQuery(map: Plain, host: Host): string {
  const pairs: string[] = []
  let length = 0
  const add = (key: string, value: unknown, depth: number): void => {
    if (isMissing(value)) return
    if (depth > 100) throw new Fault('limit', `a value has more than 100 levels`)
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
