import type { Path, Reporter } from '../../findings/index.ts'
import { hiddenIn } from '../../text/index.ts'
import type { Check } from '../check.ts'

/** Checks for hidden characters in texts, which models read. */
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

/** Syntax that can produce other characters than written: escapes and variables. */
const GIVES_OTHERS = /\\|\$\{/

/** Whether a text cannot contain anything hidden. */
function isOpen(text: string): boolean {
  return !GIVES_OTHERS.test(text) && hiddenIn(text) === undefined
}

/** A quick test, as building every path would be slow. */
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

/** Keys of prose for models, which clients do not send back. */
const PROSE: ReadonlySet<string> = new Set(['title', 'description'])
