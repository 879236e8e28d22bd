import { compile, type Parsed, parse } from './index.ts'
import type { Compiled, CompileOptions, Roots } from './types.ts'

type Options = Pick<CompileOptions, 'place' | 'env' | 'roots' | 'trusted'>

/** Templates of one run, parsed and compiled once: many tools write the same text, and several stages look at it. */
export interface Memo {
  parse(source: string): Parsed
  compile(source: string, options: Options): Compiled
  /** Whatever else a text was found to be; `key` says all that it depends on. */
  find<T>(key: string): T | undefined
  keep(key: string, value: unknown): void
  /** Lets go of everything. */
  clear(): void
}

/** What is compiled takes many times the room of its text. */
const MAX_ENTRIES = 500
const MAX_LENGTH = 10_000

/** @param env what templates read: those that are compiled with another one are not remembered */
export function templateMemo(env: CompileOptions['env']): Memo {
  const known = new Map<string, unknown>()
  const keep = (key: string, value: unknown) => {
    if (key.length > MAX_LENGTH) return
    if (known.size >= MAX_ENTRIES) known.clear()
    known.set(key, value)
  }
  const remembered = <T>(key: string, make: () => T): T => {
    const found = known.get(key) as T | undefined
    if (found !== undefined) return found
    const made = make()
    keep(key, made)
    return made
  }
  const parsed = (source: string) => remembered(`parse\n${source}`, () => parse(source))
  return {
    parse: parsed,
    compile(source, options) {
      const { place, roots, trusted } = options
      if (options.env !== env || place === 'go') return compile(source, options)
      const key = `${place} ${rootsKey(roots)} ${trusted?.join(' ') ?? ''}\n${source}`
      return remembered(key, () => compile(source, options, () => parsed(source)))
    },
    find: <T>(key: string) => known.get(key) as T | undefined,
    keep,
    clear: () => known.clear(),
  }
}

const keys = new WeakMap<Roots, string>()

function rootsKey(roots: Roots | undefined): string {
  if (!roots) return ''
  let key = keys.get(roots)
  if (key === undefined) {
    key = JSON.stringify(roots)
    keys.set(roots, key)
  }
  return key
}
