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
  const named = [...byWord].flatMap(([word, tags]): Named[] => {
    const all = tags.flatMap(([, list]) => list)
    const together = tags.length > 1 && sizeOf(all) <= limit
    return together ? [[word, all]] : tags
  })
  return packed(named).flatMap(([tag, list]) =>
    chunks(list, limit).map((chunk) => ({ end: unique(tag).replaceAll('_', '-'), members: chunk })),
  )
}

type Named = [name: string, members: Member[]]

/** Tools of a path that has few of them, which no tag brings together: a list of their own is not worth it. */
const FEW = 3

/** What only first segments of paths name goes together where it is small: flat paths have one for each operation. */
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
