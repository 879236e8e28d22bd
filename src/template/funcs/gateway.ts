import { parse } from '../../json/index.ts'
import { execFault, typeFault } from '../errors.ts'
import { toJson } from '../fmt/json.ts'
import type { Host } from '../types.ts'
import { asMap, own, Struct, typeName } from '../values.ts'
import { define, type FunctionEntry, paid } from './define.ts'
import { toQuery } from './query-pairs.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The gateway's additions to Go's functions. `env` reads the compile-time environment. */
export function gatewayFunctions(env: Environment): FunctionEntry[] {
  return [
    define(
      'toJSON value:any',
      'The value as JSON',
      ([value], host) => paid(value, toJson(value, host.go), host),
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
      return host.go ? JSON.parse(value) : parse(value)
    } catch {
      return {}
    }
  }
  if (host.go) throw typeFault(`wrong type for value; expected string; found ${typeName(value)}`)
  if (value !== null && value !== undefined) return value
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
    if (current === undefined || current === null) return null
  }
  return current
}
