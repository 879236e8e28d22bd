import { groupBy } from '../text/index.ts'
import type { Operation } from './operations.ts'
import type { MadeTool } from './tool.ts'
import { namer, slug } from './tool-names.ts'

export interface Member extends MadeTool {
  operation: Operation
  /** Its line in the list of all operations. */
  listed: { name?: string }
  config: ReadonlyMap<string, string>
}

export interface Group {
  /** Empty: all tools are in one. */
  end: string
  members: Member[]
}

/**
 * Tools in lists that a model can afford: one where that is enough, else one for each tag (or first segment of the
 * path), and several for a tag that is too large. Tags that begin alike go together where they are small.
 * @param limit characters of a list
 */
export function groupsOf(members: readonly Member[], limit: number): Group[] {
  if (sizeOf(members) <= limit) return [{ end: '', members: [...members] }]
  const byTag = groupBy(members, ({ operation }) => tagOf(operation))
  const byWord = groupBy([...byTag], ([tag]) => tag.split('-')[0]!)
  const unique = namer(60)
  return [...byWord].flatMap(([word, tags]) => {
    const all = tags.flatMap(([, list]) => list)
    const together = tags.length > 1 && sizeOf(all) <= limit
    return (together ? [[word, all] as const] : tags).flatMap(([tag, list]) =>
      chunks(list, limit).map((chunk) => ({ end: unique(tag).replaceAll('_', '-'), members: chunk })),
    )
  })
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
