import type { Imported, ListedOperation } from '../../openapi/index.ts'
import { printableLines, shorten } from '../../text/index.ts'
import { columns, jsonText } from '../output.ts'
import { headLine } from './operations-report.ts'

/** Maximum characters of a method with its path, and of a name, that stay aligned. */
const WIDEST = [60, 40]
const UNTAGGED = 'no tag'

/** The operations of a description by tag, with their import names. */
export function listText(made: Imported, from: string): string {
  const groups = [...byTag(made.listed)].map(([tag, operations]) => {
    const { title = '', description = '' } = made.tags.get(tag) ?? {}
    const said = [title, description].filter(Boolean).join('. ')
    const heading = `${tag} (${operations.length})${said && `: ${said}`}`
    return ['', heading, ...columns(operations.map(rowOf), WIDEST)]
  })
  return `${printableLines([headLine(made, from, 'can be imported'), ...groups.flat()].join('\n'))}\n`
}

/** Groups operations by their first tag. */
function byTag(listed: readonly ListedOperation[]): Map<string, ListedOperation[]> {
  const made = new Map<string, ListedOperation[]>()
  for (const one of listed) {
    const tag = one.tags[0] ?? UNTAGGED
    const list = made.get(tag)
    if (list) list.push(one)
    else made.set(tag, [one])
  }
  return made
}

function rowOf({ operation, name, reason, summary }: ListedOperation): string[] {
  const said = reason === undefined ? shorten(summary, 80) : `skipped: ${reason}`
  const state = name ?? (reason === undefined ? 'not selected' : '-')
  return [`  ${operation}`, state, said]
}

/** The same as JSON. */
export function listJson({ listed, tags, operations, imported, notSelected }: Imported): string {
  const described = [...tags].map(([name, { title, description }]) => ({
    name,
    ...(title && { title }),
    ...(description && { description }),
  }))
  return jsonText({ operations, imported, notSelected, tags: described, listed })
}
