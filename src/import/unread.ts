import type { Json } from '../json/index.ts'

/** A JSON value that records which of its members are read. */
interface Tracked {
  value: Json
  /** Paths of members that were not read; an object that was only read as a whole has none. */
  unread(): string[][]
}

/** Records reads, so that an import can report each part of a file that it does not use. */
export function tracked(root: Json): Tracked {
  const proxies = new WeakMap<object, Json>()
  const read = new WeakMap<object, Set<PropertyKey>>()
  const track = (value: Json): Json => {
    if (typeof value !== 'object' || value === null) return value
    const known = proxies.get(value)
    if (known !== undefined) return known
    const made = new Proxy(value, {
      get(target, key, receiver) {
        const keys = read.get(target) ?? new Set()
        read.set(target, keys.add(key))
        // A method needs the proxy as its `this`.
        if (!Object.hasOwn(target, key)) return Reflect.get(target, key, receiver)
        return track(Reflect.get(target, key) as Json)
      },
    }) as Json
    proxies.set(value, made)
    return made
  }
  function* walk(value: Json, path: string[]): Generator<string[]> {
    const keys = typeof value === 'object' && value !== null ? read.get(value) : undefined
    if (!keys) return
    for (const [key, member] of Object.entries(value as Record<string, Json>)) {
      const at = [...path, Array.isArray(value) ? nameOf(member, key) : key]
      if (keys.has(key)) yield* walk(member, at)
      else yield at
    }
  }
  return {
    value: track(root),
    unread() {
      const found: string[][] = []
      // Maximum paths, as files of editors have thousands.
      for (const path of walk(root, [])) if (found.push(path) === 2_000) break
      return found
    },
  }
}

/** An item of a list, by its own name. */
function nameOf(member: Json, index: string): string {
  const { name, key } = (member ?? {}) as Record<string, Json | undefined>
  return [name, key].find((one): one is string => typeof one === 'string' && one !== '') ?? index
}
