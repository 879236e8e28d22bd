import type { JsonObject } from '../json/index.ts'
import { maps, textOf } from './open-document.ts'
import type { Operation } from './operations.ts'
import { LENGTHS, plainText } from './tool-names.ts'

/** A tag as the document describes it. */
export interface Tag {
  /** Display name, if different; else ''. */
  title: string
  description: string
}

/** Maximum characters of a group; configurations allow 100. */
const MAX_GROUP = 60
const MAX_TAGS = 2_000

/** The tags that the document describes. */
export function tagsOf(document: JsonObject): Map<string, Tag> {
  const made = new Map<string, Tag>()
  for (const tag of maps(document.tags).slice(0, MAX_TAGS)) {
    const name = textOf(tag.name)
    if (name === undefined) continue
    // OpenAPI 3.2 has `summary` for a common extension.
    const title = plainText(textOf(tag['x-displayName']) ?? textOf(tag.summary) ?? '', MAX_GROUP)
    const description = plainText(textOf(tag.description) ?? '', LENGTHS.nested)
    made.set(name, { title: title === name ? '' : title, description })
  }
  return made
}

/** Search words of a tool beyond its own text. */
export interface Found {
  group?: string
  keywords?: string[]
}

/** The first tag as group; words of other tags and titles as keywords. */
export function foundBy({ tags, id = '', summary, path }: Operation, known: ReadonlyMap<string, Tag>): Found {
  const [first, ...others] = tags
  const group = plainText(first ?? '', MAX_GROUP)
  const own = new Set(wordsIn([group, id, summary, path].join(' ')))
  const more = [known.get(first ?? '')?.title ?? '', ...others.flatMap((tag) => [tag, titleOf(tag, known)])]
  const keywords = [...new Set(more.map((text) => plainText(text, MAX_GROUP)))].filter((text) =>
    wordsIn(text).some((word) => !own.has(word)),
  )
  return { ...(group && { group }), ...(keywords.length > 0 && { keywords: keywords.slice(0, 10) }) }
}

function titleOf(tag: string, known: ReadonlyMap<string, Tag>): string {
  return known.get(tag)?.title ?? ''
}

function wordsIn(text: string): string[] {
  return text
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
}
