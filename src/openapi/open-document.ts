import { parseDocument } from 'yaml'
import { jsonFault } from '../checks/json-fault.ts'
import { foreignFile } from '../config/foreign-file.ts'
import type { Source } from '../config/index.ts'
import { type Finding, finding } from '../findings/index.ts'
import { isObject, type Json, type JsonObject, valueAt } from '../json/index.ts'
import { lowerFirst, percentDecoded, positionsOf, shorten } from '../text/index.ts'

/** A map; a value of another type counts as absent. */
export const isMap: (value: unknown) => value is JsonObject = isObject

export function mapOf(value: unknown): JsonObject {
  return isMap(value) ? value : {}
}

export function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value : []
}

export function maps(value: unknown): JsonObject[] {
  return listOf(value).filter(isMap)
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A schema is too large at this depth and must be tried with less; internal to this room. */
export class TooLarge extends Error {}

/** Why part of a document is unusable; internal to this room. */
export class Unsupported extends Error {}

/** The reason for an unusable part. @throws other errors */
export function reasonOf(error: unknown): string {
  if (error instanceof Unsupported) return error.message
  throw error
}

export type Version = '2.0' | '3.0' | '3.1'

type ReadDocument =
  | { document: JsonObject; version: Version }
  /** Why it is not an OpenAPI document. */
  | { fault: string }
  /** It is not JSON or YAML. */
  | { findings: Finding[] }

/** Detects many tags, for which the YAML parser takes quadratic time. */
const TAG_HEAP = /(?:[!&][^\s!&]{0,99}\s{1,99}){50}/

/** Reads JSON or YAML as an OpenAPI 3.0 or 3.1 or Swagger 2.0 document. Never throws. */
export function readDocument(source: Source): ReadDocument {
  const read = parseText(source)
  return 'findings' in read ? read : versionOf(read.value, source.file)
}

function versionOf(document: Json, file: string): ReadDocument {
  if (!isMap(document)) return { fault: 'the top level is not an object' }
  const { openapi, swagger } = document
  const version = String(openapi ?? swagger ?? '')
  if (openapi === undefined && swagger === undefined) {
    if (document.swaggerVersion !== undefined)
      return { fault: 'Swagger 1 is not supported: convert it to OpenAPI 3.0 first' }
    if (document.asyncapi !== undefined)
      return { fault: 'it is an AsyncAPI document, which does not describe HTTP calls' }
    const foreign = foreignFile(document, 'openapi', file)
    if (foreign) return { fault: `it is ${foreign.what}. ${foreign.hint}` }
    return { fault: 'the top level has neither `openapi` nor `swagger`' }
  }
  // Since OpenAPI 3.1, a description may have these alone.
  const { paths, webhooks, components } = document
  if (![paths, webhooks, components].some(isMap)) return { fault: 'it has no `paths`' }
  if (openapi === undefined)
    return /^2(\.|$)/.test(version)
      ? { document, version: '2.0' }
      : { fault: `Swagger ${version} is not supported` }
  if (/^3\.0(\.|$)/.test(version) || version === '3') return { document, version: '3.0' }
  // 3.2 extends 3.1.
  if (/^3\.[1-9]/.test(version)) return { document, version: '3.1' }
  return {
    fault: `OpenAPI ${version.slice(0, 20)} is not supported; supported are OpenAPI 3.0 and 3.1, and Swagger 2.0`,
  }
}

/** JSON or YAML as values. Never throws. */
export function parseText(given: Source): { value: Json } | { findings: Finding[] } {
  const { file } = given
  const text = given.text.replace(/^\uFEFF/, '')
  const source = { file, text }
  let ofJson: Finding | undefined
  if (/^\s*[{[]/.test(text)) {
    try {
      return { value: JSON.parse(text) }
    } catch {
      // It may be YAML that begins with a brace.
      const found = jsonFault(text)
      if (found) ofJson = fault(source, found.message, found.offset, found.offset + 1, found.hint)
    }
  }
  const tooMany = TAG_HEAP.exec(text)
  if (tooMany) return { findings: [fault(source, 'too many consecutive tags or anchors', tooMany.index)] }
  try {
    const doc = parseDocument(text, {
      schema: 'core',
      merge: true,
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'error',
      resolveKnownTags: false,
    })
    if (doc.errors.length === 0) return { value: doc.toJS({ maxAliasCount: 1000 }) }
    const faults = doc.errors
      // Maximum faults reported, as later ones often follow from the first.
      .slice(0, 5)
      .map(({ code, message, pos }) => {
        const isSecond = code === 'MULTIPLE_DOCS'
        const shown = isSecond ? 'a second document starts here' : lowerFirst(message).replace(/\.$/, '')
        return fault(source, shown, ...pos, isSecond ? 'Import each from a file of its own' : undefined)
      })
    return { findings: ofJson ? [ofJson] : faults }
  } catch (error) {
    const deep = error instanceof RangeError
    const message = deep ? 'it is nested too deeply' : `it cannot be read: ${(error as Error).message}`
    return { findings: [finding('yaml-syntax', file, message)] }
  }
}

function fault(
  { file, text }: Source,
  message: string,
  start: number,
  end = start + 1,
  hint?: string,
): Finding {
  const position = positionsOf(text)
  return finding('yaml-syntax', file, message, {
    range: { start: position(start), end: position(end) },
    ...(hint !== undefined && { hint }),
  })
}

export interface Refs {
  /** Follows `$ref`. @throws Unsupported if the target is missing */
  follow(value: Json | undefined): JsonObject
  /** The target of one `$ref`. @throws Unsupported */
  target(ref: string): Json
}

/**
 * Follows references inside of one document, and from there into others.
 *
 * Ours rather than @apidevtools/json-schema-ref-parser 15.5: it adds 4 packages, takes 4 to 14 times as long for 400 files
 * with a schema each (440 to 580 ms), and rejects the whole document for 500 references in a row or a file that is missing.
 */
export function refsOf(document: JsonObject, others?: Others): Refs {
  const target = (ref: string): Json =>
    ref.startsWith('#') ? lookUp(document, ref, ref) : lookUpOther(ref, others)
  return {
    target,
    follow(value) {
      let at = value
      for (let hops = 0; isMap(at) && typeof at.$ref === 'string'; hops++) {
        if (hops === 20) throw new Unsupported('a reference refers to itself')
        at = target(at.$ref)
      }
      return isMap(at) ? at : {}
    },
  }
}

function lookUpOther(ref: string, others: Others | undefined): Json {
  if (!others)
    throw new Unsupported(
      'it refers to another file: import the description by its path or URL, or bundle it into one file',
    )
  if (!URL.canParse(ref, others.base))
    throw new Unsupported(`the reference ${shorten(ref, 80)} has no target`)
  const url = new URL(ref, others.base)
  const pointer = url.hash
  url.hash = ''
  const other = others.files.get(url.href) ?? { fault: 'it was not read' }
  if ('fault' in other) throw new Unsupported(`it refers to ${shorten(ref, 80)}: ${other.fault}`)
  return pointer === '' || pointer === '#' ? other.value : lookUp(other.value, pointer, ref)
}

function lookUp(document: Json, pointer: string, ref: string): Json {
  const path = pointer.split('/').slice(1)
  const found = valueAt(
    document,
    path.map((segment) => percentDecoded(segment).replaceAll('~1', '/').replaceAll('~0', '~')),
  )
  if (found === undefined || found === document)
    throw new Unsupported(`the reference ${shorten(ref, 80)} has no target`)
  return found
}

/** The referenced files by URL: their values, or why they are unreadable. */
export interface Others {
  /** URL of the description. */
  base: string
  files: ReadonlyMap<string, Other>
}

type Other = { value: Json } | { fault: string }

/**
 * Reads all files that a description refers to, directly or indirectly. Faults are reported where a file is needed.
 * References in those files become absolute.
 * @param base URL of the description
 * @param load returns the text of a URL; its error's message is the reason
 */
export async function readOthers(
  { file, text }: { file: string; text: string },
  base: string,
  load: (url: string) => Promise<string>,
): Promise<Others> {
  const files = new Map<string, Other>()
  const others = { base, files }
  // Avoids parsing a single-file description twice.
  if (!/\$ref["']?\s*:\s*["']?[^#"'\s]/.test(text)) return others
  const read = parseText({ file, text })
  const waiting = 'findings' in read ? [] : namedBy(read.value, base, base)
  let characters = 0
  const counted = async (url: string) => {
    const text = await load(url)
    characters += text.length
    return text
  }
  for (let url = waiting.shift(); url !== undefined; url = waiting.shift()) {
    if (files.has(url)) continue
    // Maximum files; the largest known description (DigitalOcean) has 2,500.
    const isWithin = files.size < 10_000 && characters <= 64 * 1024 * 1024
    const entry = isWithin ? await readOther(url, counted) : { fault: 'the description has too many files' }
    files.set(url, entry)
    if ('value' in entry) waiting.push(...namedBy(entry.value, url, base))
  }
  return others
}

async function readOther(url: string, load: (url: string) => Promise<string>): Promise<Other> {
  try {
    const read = parseText({ file: url, text: await load(url) })
    return 'findings' in read ? { fault: 'the file is neither JSON nor YAML' } : read
  } catch (error) {
    return { fault: (error as Error).message }
  }
}

/** The files referenced in a value, whose references are made absolute. */
function namedBy(value: Json, url: string, base: string): string[] {
  const named = new Set<string>()
  const seen = new Set<Json>()
  const waiting = [value]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    // A YAML alias may have been visited.
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
