import { compile, type Parsed, parse } from './template.ts'
import type { Compiled, CompileOptions } from './types.ts'

type Options = Pick<CompileOptions, 'place' | 'env' | 'roots' | 'trusted' | 'slashes'>

/** Templates of one run, parsed and compiled once: many tools write the same text, and several stages look at it. */
export interface Memo {
  parse(source: string): Parsed
  compile(source: string, options: Options): Compiled
  /** Whatever else the template of a text was found to be, by a key that says all that it depends on beside the text. */
  of(source: string): ReadonlyMap<string, unknown> | undefined
  keep(source: string, key: string, value: unknown): void
  /** A short name for what keys depend on, the same for whatever is written in the same way. */
  nameOf<T extends object>(one: T, write: (one: T) => string): string
  /** Lets go of everything. */
  clear(): void
}

/** What is compiled takes many times the room of its text. */
const MAX_ENTRIES = 500
const MAX_LENGTH = 10_000

/** @param env what templates read: those that are compiled with another one are not remembered */
export function templateMemo(env: CompileOptions['env']): Memo {
  // By text first: a string is hashed once, one that is put together for every look-up is not.
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
    // Never one that was given before.
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
