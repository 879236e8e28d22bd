import type { Path, Reporter } from '../../findings/index.ts'
import { hiddenIn } from '../../text/index.ts'
import type { Check } from '../check.ts'

/** Texts whose characters are not all seen, as models read them all the same. */
export const HIDDEN_CHECKS: readonly Check[] = [
  {
    codes: ['suspicious-text'],
    on: 'configuration',
    check(configuration, report, { read: { text } }) {
      if (isOpen(text)) return
      for (const key of ['servers', 'tools', 'prompts', 'mcpServers'] as const)
        for (const [i, node] of configuration[key].entries()) if (isHiding(node)) look(node, [key, i], report)
    },
  },
]

/** What may give a value other characters than those that are written: an escape, or a variable. */
const GIVES_OTHERS = /\\|\$\{/

/** Whether nothing can be hidden in what is read from a text. */
function isOpen(text: string): boolean {
  return !GIVES_OTHERS.test(text) && hiddenIn(text) === undefined
}

/** To make the path of each text takes longer than to look at it. */
function isHiding(value: unknown): boolean {
  if (typeof value === 'string') return hiddenIn(value) !== undefined
  if (typeof value !== 'object' || value === null) return false
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key]
    if ((typeof member === 'object' || PROSE.has(key)) && isHiding(member)) return true
  }
  return false
}

function look(value: unknown, path: Path, report: Reporter): void {
  if (typeof value === 'string') {
    const found = hiddenIn(value)
    if (found !== undefined)
      report({
        code: 'suspicious-text',
        path,
        message: `the text has a character that people do not see and models read (${found})`,
        hint: 'Delete it, or write the text again by hand',
      })
  } else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value))
      if (typeof member === 'object' || PROSE.has(key))
        look(member, [...path, Array.isArray(value) ? Number(key) : key], report)
}

/** Keys of what models read and nobody sends back. */
const PROSE: ReadonlySet<string> = new Set(['title', 'description'])
