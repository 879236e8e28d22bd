import type { JsonObject } from '../json/index.ts'
import { groupBy } from '../text/index.ts'
import { maps, textOf } from './open-document.ts'
import type { Operation } from './operations.ts'
import type { MadeTool } from './tool.ts'
import { LENGTHS, namer, plainText, slug } from './tool-names.ts'

export interface Member extends MadeTool {
  operation: Operation
  /** Its entry in the list of all operations. */
  listed: { name?: string }
  config: ReadonlyMap<string, string>
}

export interface Group {
  /** Empty: a single group with all tools. */
  end: string
  members: Member[]
}

/**
 * Groups tools in lists of a size suitable for models: one if possible, else one for each tag (or first path segment),
 * several for a large tag, and combined ones for small tags with a common prefix.
 * @param limit characters of a list
 */
export function groupsOf(members: readonly Member[], limit: number): Group[] {
  if (sizeOf(members) <= limit) return [{ end: '', members: [...members] }]
  const byTag = groupBy(members, ({ operation }) => tagOf(operation))
  const byWord = groupBy([...byTag], ([tag]) => tag.split('-')[0]!)
  const unique = namer(60)
  const named = [...byWord].flatMap(([word, tags]): Named[] => {
    const all = tags.flatMap(([, list]) => list)
    const together = tags.length > 1 && sizeOf(all) <= limit
    return together ? [[word, all]] : tags
  })
  return packed(named).flatMap(([tag, list]) =>
    chunks(list, limit).map((chunk) => ({
      end: unique(tag.replace(ENDPOINT, '$&_tools')).replaceAll('_', '-'),
      members: chunk,
    })),
  )
}

/** Ends of a prefix that look like the endpoints below it. */
const ENDPOINT = /^(?:mcp|sse|message)$/

type Named = [name: string, members: Member[]]

/** Maximum tools of an untagged path that are merged with others. */
const FEW = 3

/** Merges small groups named only by path segments, as flat paths have one for each operation. */
function packed(named: readonly Named[]): Named[] {
  const isSmall = ([, list]: Named) =>
    list.length <= FEW && list.every(({ operation: { tags } }) => !slug(tags[0] ?? ''))
  const small = named.filter(isSmall)
  if (small.length < 2) return [...named]
  const rest: Named = ['others', small.flatMap(([, list]) => list)]
  return [...named.filter((one) => !isSmall(one)), rest]
}

function sizeOf(members: readonly Member[]): number {
  return members.reduce((sum, { size }) => sum + size, 0)
}

function tagOf({ tags, path }: Operation): string {
  const plain = path.replace(/[?#].*$/s, '')
  const segments = plain.split('/').filter((part) => part && !part.includes('{') && !/^v\d+$/i.test(part))
  return slug(tags[0] ?? '') || slug(segments[0] ?? '') || 'other'
}

function chunks(members: readonly Member[], limit: number): Member[][] {
  const made: Member[][] = []
  let left = 0
  for (const member of members) {
    if (member.size > left || made.length === 0) {
      made.push([])
      left = limit
    }
    made.at(-1)!.push(member)
    left -= member.size
  }
  return made
}

/** A tag as the document describes it. */
export interface Tag {
  /** Display name, if different; else ''. */
  title: string
  description: string
}

/** Maximum characters of a group; configurations allow 100. */
const MAX_GROUP = 60

/** The tags that the document describes. */
export function tagsOf(document: JsonObject): Map<string, Tag> {
  const made = new Map<string, Tag>()
  for (const tag of maps(document.tags).slice(0, 2_000)) {
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
interface Found {
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
