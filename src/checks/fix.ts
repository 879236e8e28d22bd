import { readConfiguration } from '../checks/index.ts'
import type { Env, ReadConfiguration } from '../config/index.ts'
import { applyFixes, type Finding } from '../findings/index.ts'
import { lintTemplates } from './templates/index.ts'

/** A mended name can uncover the next one behind it, but not without end. */
const ROUNDS = 10

/** A finding that was mended: what stood there, and what stands there now. */
export interface Fixed {
  finding: Finding
  was: string
  now: string
}

function fixable(findings: readonly Finding[]): number {
  return findings.filter(({ fix }) => fix !== undefined).length
}

/**
 * Mends what leaves no doubt, and nothing else of the file: comments and layout stay as they are.
 * @param find what is wrong with the file; what has a `fix` is mended. Default: `lintTemplates`
 * @returns the configuration as it reads afterwards, what was mended, and what is left
 */
export function fixFile(
  read: ReadConfiguration,
  env: Env,
  find: (read: ReadConfiguration) => Finding[] = (one) => lintTemplates(one, env),
): { read: ReadConfiguration; fixed: Fixed[]; findings: Finding[] } {
  let current = read
  let findings = find(read)
  const fixed: Fixed[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const applied = applyFixes(current.text, findings)
    if (applied.fixed.length === 0) break
    const next = readConfiguration({ file: read.file, text: applied.text }, env)
    const left = find(next)
    // A fix must not break what could be read; an alias shares text between tools that want different names.
    if (!next.configuration || fixable(left) >= fixable(findings)) break
    for (const one of applied.fixed) fixed.push(change(one, current.text))
    current = next
    findings = left
  }
  return { read: current, fixed, findings }
}

/** With the dot before a name, which shows what kind of name it is. */
function change(finding: Finding, text: string): Fixed {
  const { range, text: now } = finding.fix!
  const { start, end } = range
  const dot = text[start.offset - 1] === '.' ? '.' : ''
  return { finding, was: dot + text.slice(start.offset, end.offset), now: dot + now }
}
