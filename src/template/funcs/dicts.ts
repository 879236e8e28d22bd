import { execFault } from '../errors.ts'
import type { Host } from '../types.ts'
import { asMap, kindOf, own, type Plain, removeMember, truth, typedList } from '../values.ts'
import { copyMap, deepCopy, keysOf, newMap, toText, writable } from './convert.ts'
import { define, type FunctionEntry } from './define.ts'

export const dicts: readonly FunctionEntry[] = [
  define('dict pairs:any...', 'An object of alternating keys and values', dict),
  define(
    'get map:map key',
    'The member; an empty string if there is none',
    ([map, key]) => own(map, key) ?? '',
  ),
  define(
    'set map:map key value:any',
    'The object with the member set; an object of the input is copied',
    ([map, key, value], host) => {
      const changed = writable(map, host)
      changed[key] = value
      return changed
    },
  ),
  define(
    'unset map:map key',
    'The object without the member; an object of the input is copied',
    ([map, key], host) => {
      const changed = writable(map, host)
      removeMember(changed, key)
      return changed
    },
  ),
  define('hasKey map:map key', 'True if the object has the member', ([map, key]) => Object.hasOwn(map, key)),
  define('pluck key maps:map...', 'The members of this name', ([key, ...maps]) =>
    maps.filter((map) => Object.hasOwn(map, key)).map((map) => map[key]),
  ),
  define('keys maps:map...', 'The keys, sorted within each object', (maps, host) =>
    typedList(
      '[]string',
      maps.flatMap((map) => keysOf(map, host)),
    ),
  ),
  define('values map:map', 'The values, in the order of the keys', ([map], host) =>
    keysOf(map, host).map((key) => map[key]),
  ),
  define('pick map:map keys...', 'An object of these members only', ([map, ...keys]) => {
    const picked = newMap()
    for (const key of keys) if (Object.hasOwn(map, key)) picked[key] = map[key]
    return picked
  }),
  define('omit map:map keys...', 'The object without these members', ([map, ...keys], host) => {
    const left = copyMap(map, host)
    for (const key of keys) delete left[key]
    return left
  }),
  define('dig keys:any...', 'The value at a path of keys, else the default: keys…, default, map', dig),
  define(
    'merge|mustMerge map:map others:map...',
    'The objects merged; the first that has a member takes precedence',
    (maps, host) => maps.reduce((all, map) => merge(all, map, false, host)),
  ),
  define(
    'mergeOverwrite|mustMergeOverwrite map:map others:map...',
    'The objects merged; the last that has a member takes precedence',
    (maps, host) => maps.reduce((all, map) => merge(all, map, true, host)),
  ),
  define('deepCopy|mustDeepCopy value:any', 'A copy', ([value], host) => deepCopy(value, host)),
].flat()

function dict(pairs: unknown[], host: Host): Plain {
  const map = newMap()
  for (let at = 0; at < pairs.length; at += 2) {
    map[toText(pairs[at], host)] = at + 1 < pairs.length ? pairs[at + 1] : ''
  }
  return map
}

function dig(args: unknown[], host: Host): unknown {
  if (args.length < 3) throw execFault('dig needs at least three arguments')
  let current: unknown = args[args.length - 1]
  for (const key of args.slice(0, -2)) {
    const map = asMap(current)
    if (typeof key !== 'string') throw execFault(`dig: a key is a string, not ${kindOf(key)}`)
    if (!map) {
      if (!host.go) return args[args.length - 2]
      throw execFault(`dig: ${kindOf(current)} has no members`)
    }
    if (!Object.hasOwn(map, key)) return args[args.length - 2]
    current = map[key]
  }
  return current
}

function merge(into: Plain, from: Plain, overwrite: boolean, host: Host): Plain {
  const merged = writable(into, host)
  for (const key of keysOf(from, host)) {
    const a = asMap(own(merged, key))
    const b = asMap(from[key])
    if (a && b) merged[key] = merge(a, b, overwrite, host)
    else if (overwrite ? truth(from[key]) || !Object.hasOwn(merged, key) : !truth(own(merged, key)))
      merged[key] = from[key]
  }
  return merged
}
