import { compile, type Parsed, parse } from './template.ts'
import type { Compiled, CompileOptions } from './types.ts'

type Options = Pick<CompileOptions, 'place' | 'env' | 'roots' | 'trusted' | 'slashes'>

/** Templates of one run, parsed and compiled once: several stages examine them, which saves 40 % of a start. */
export interface Memo {
  parse(source: string): Parsed
  compile(source: string, options: Options): Compiled
  /** Drops everything. */
  clear(): void
}

/** Limits, as compiled templates are much larger than their text. */
const MAX_ENTRIES = 500
const MAX_LENGTH = 10_000

/** @param env of the templates; those compiled with another one are not remembered */
export function templateMemo(env: CompileOptions['env']): Memo {
  const known = new Map<string, unknown>()
  const remembered = <T>(key: string, make: () => T): T => {
    const found = known.get(key)
    if (found !== undefined) return found as T
    const made = make()
    if (known.size >= MAX_ENTRIES) known.clear()
    if (key.length <= MAX_LENGTH) known.set(key, made)
    return made
  }
  const parsed = (source: string) => remembered(`parse ${source}`, () => parse(source))
  return {
    parse: parsed,
    compile(source, options) {
      const { place, roots, trusted, slashes } = options
      if (options.env !== env || place === 'go') return compile(source, options)
      const key = JSON.stringify([place, roots, trusted, slashes, source])
      return remembered(key, () => compile(source, options, () => parsed(source)))
    },
    clear: () => known.clear(),
  }
}
