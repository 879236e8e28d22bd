import type { Json, JsonObject } from '../json/index.ts'
import { shorten } from '../text/index.ts'
import { isMap, member, Unfit } from './document-values.ts'
import { parseText } from './open-document.ts'

/** References that lead to references. */
const MAX_HOPS = 20

export interface Refs {
  /** Follows `$ref` to what it stands for. @throws Unfit when that is not in the document */
  follow(value: Json | undefined): JsonObject
  /** What one `$ref` names. @throws Unfit */
  target(ref: string): Json
}

/** Follows references inside of one document, and from there into others. */
export function refsOf(document: JsonObject, others?: Others): Refs {
  const known = new Map<string, Json>()
  const target = (ref: string): Json => {
    const found = known.get(ref)
    if (found !== undefined) return found
    const value = ref.startsWith('#') ? lookUp(document, ref, ref) : lookUpOther(ref, others)
    known.set(ref, value)
    return value
  }
  return {
    target,
    follow(value) {
      let at = value
      for (let hops = 0; isMap(at) && typeof at.$ref === 'string'; hops++) {
        if (hops === MAX_HOPS) throw new Unfit('a reference refers to itself')
        at = target(at.$ref)
      }
      return isMap(at) ? at : {}
    },
  }
}

function lookUpOther(ref: string, others: Others | undefined): Json {
  if (!others)
    throw new Unfit(
      'it refers to another file: import the description by its path or URL, or bundle it into one file',
    )
  if (!URL.canParse(ref, others.base)) throw new Unfit(`the reference ${shorten(ref, 80)} has no target`)
  const url = new URL(ref, others.base)
  const pointer = url.hash
  url.hash = ''
  const other = others.files.get(url.href) ?? { fault: 'it was not read' }
  if ('fault' in other) throw new Unfit(`it refers to ${shorten(ref, 80)}: ${other.fault}`)
  return pointer === '' || pointer === '#' ? other.value : lookUp(other.value, pointer, ref)
}

function lookUp(document: Json, pointer: string, ref: string): Json {
  let at: Json | undefined = document
  for (const segment of pointer.slice(1).split('/').slice(1)) {
    const name = decode(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(at) && /^\d+$/.test(name)) at = at[Number(name)]
    else at = isMap(at) ? member(at, name) : undefined
    if (at === undefined) break
  }
  if (at === undefined || at === document) throw new Unfit(`the reference ${shorten(ref, 80)} has no target`)
  return at
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** The files that a description refers to, by URL: their values, or why they cannot be read. */
export interface Others {
  /** URL of the description itself. */
  base: string
  files: ReadonlyMap<string, { value: Json } | { fault: string }>
}

/** More files are no description of one API. */
const MAX_FILES = 2_000

/**
 * Reads the files that a description refers to, and those that they refer to. What cannot be read is reported where it is
 * needed. References in those files become absolute.
 * @param base URL of the description
 * @param load gives the text of a URL; its error's message is reported as the reason
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
    const entry = files.size < MAX_FILES ? await readOther(url, load) : { fault: 'there are too many files' }
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
    return read.findings ? { fault: 'the file is neither JSON nor YAML' } : { value: read.value as Json }
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
