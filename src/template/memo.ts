import { compile, type Parsed, parse } from './template.ts'
import type { Compiled, CompileOptions } from './types.ts'

type Options = Pick<CompileOptions, 'place' | 'env' | 'roots' | 'trusted' | 'slashes'>

/** Templates of one run, parsed and compiled once, as tools often repeat texts and several stages examine them. */
export interface Memo {
  parse(source: string): Parsed
  compile(source: string, options: Options): Compiled
  /** Other results for a template text, by a key with everything that they depend on. */
  of(source: string): ReadonlyMap<string, unknown> | undefined
  keep(source: string, key: string, value: unknown): void
  /** A short name for a part of keys, equal for equal written forms. */
  nameOf<T extends object>(one: T, write: (one: T) => string): string
  /** Drops everything. */
  clear(): void
}

/** Limits, as compiled templates are much larger than their text. */
const MAX_ENTRIES = 500
const MAX_LENGTH = 10_000

/** @param env of the templates; those compiled with another one are not remembered */
export function templateMemo(env: CompileOptions['env']): Memo {
  // Keyed by text first, as its hash is cached, unlike that of concatenated keys.
  const known = new Map<string, Map<string, unknown>>()
  const names = new Map<string, string>()
  let ofObjects = new WeakMap<object, string>()
  let entries = 0
  let named = 0
  const clear = () => {
    known.clear()
    names.clear()
    ofObjects = new WeakMap()
    entries = 0
  }
  const keep = (source: string, key: string, value: unknown) => {
    if (source.length + key.length > MAX_LENGTH) return
    if (entries >= MAX_ENTRIES) clear()
    const ofSource = known.get(source) ?? new Map<string, unknown>()
    known.set(source, ofSource.set(key, value))
    entries++
  }
  const remembered = <T>(source: string, key: string, make: () => T): T => {
    const found = known.get(source)?.get(key)
    if (found !== undefined) return found as T
    const made = make()
    keep(source, key, made)
    return made
  }
  const nameOf = <T extends object>(one: T, write: (one: T) => string) => {
    const known = ofObjects.get(one)
    if (known !== undefined) return known
    const text = write(one)
    if (names.size >= MAX_ENTRIES) names.clear()
    // Never reused.
    const name = names.get(text) ?? String(named++)
    names.set(text, name)
    ofObjects.set(one, name)
    return name
  }
  const parsed = (source: string) => remembered(source, 'parse', () => parse(source))
  return {
    parse: parsed,
    compile(source, options) {
      const { place, roots, trusted, slashes } = options
      if (options.env !== env || place === 'go') return compile(source, options)
      const key = `${place} ${roots ? nameOf(roots, JSON.stringify) : ''} ${trusted?.join(' ') ?? ''} ${JSON.stringify(slashes) ?? ''}`
      return remembered(source, key, () => compile(source, options, () => parsed(source)))
    },
    of: (source) => known.get(source),
    keep,
    nameOf,
    clear,
  }
}
