import type { Json, JsonObject } from '../json/index.ts'
import { parseText } from './document.ts'

/** What the files that a description refers to hold, by their URLs; for those that are not to be had, why. */
export interface Others {
  /** URL of the description itself. */
  base: string
  files: ReadonlyMap<string, { value: Json } | { fault: string }>
}

/** More files are no description of one API. */
const MAX_FILES = 2_000

/**
 * Reads the files that a description refers to, and those that they refer to. What cannot be read is told where it is
 * needed. References in those files become absolute.
 * @param base URL of the description
 * @param load gives the text of a URL; its error's message is told as the reason
 */
export async function readOthers(
  { file, text }: { file: string; text: string },
  base: string,
  load: (url: string) => Promise<string>,
): Promise<Others> {
  const files = new Map<string, { value: Json } | { fault: string }>()
  const others = { base, files }
  // Most descriptions are one file: they are not read twice.
  if (!/\$ref["']?\s*:\s*["']?[^#"'\s]/.test(text)) return others
  const read = parseText({ file, text: text.replace(/^\uFEFF/, '') })
  const waiting = read.findings ? [] : namedBy(read.value as Json, base, base)
  for (let url = waiting.shift(); url !== undefined; url = waiting.shift()) {
    if (files.has(url)) continue
    const entry = files.size < MAX_FILES ? await readOther(url, load) : { fault: 'it is one file too many' }
    files.set(url, entry)
    if ('value' in entry) waiting.push(...namedBy(entry.value, url, base))
  }
  return others
}

async function readOther(
  url: string,
  load: (url: string) => Promise<string>,
): Promise<{ value: Json } | { fault: string }> {
  try {
    const read = parseText({ file: url, text: (await load(url)).replace(/^\uFEFF/, '') })
    return read.findings ? { fault: 'it is neither JSON nor YAML' } : { value: read.value as Json }
  } catch (error) {
    return { fault: (error as Error).message }
  }
}

/** The files that the references in a value name. The references are made absolute. */
function namedBy(value: Json, url: string, base: string): string[] {
  const named = new Set<string>()
  const seen = new Set<Json>()
  const waiting = [value]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    // What an alias of YAML stands for comes again.
    if (typeof at !== 'object' || at === null || seen.has(at)) continue
    seen.add(at)
    waiting.push(...Object.values(at as JsonObject))
    const { $ref } = at as JsonObject
    if (typeof $ref !== 'string' || !URL.canParse($ref, url)) continue
    const target = new URL($ref, url)
    const { hash } = target
    target.hash = ''
    const own = target.href === base
    ;(at as JsonObject).$ref = own ? hash || '#' : target.href + hash
    if (!own && target.href !== url) named.add(target.href)
  }
  return [...named]
}
