import type { Env, ReadConfiguration } from '../config/index.ts'
import type { Finding } from '../findings/index.ts'
import { readConfiguration } from './reader.ts'
import { lintTemplates } from './templates/index.ts'

/** A fixed name can reveal the next one, but not endlessly. */
const ROUNDS = 10

/** A fixed finding, with the text before and after. */
export interface Fixed {
  finding: Finding
  was: string
  now: string
}

/**
 * Applies fixes, and changes nothing else: comments and layout stay.
 * @param find the findings of the file; those with a `fix` are applied. Default: `lintTemplates`
 * @returns the resulting configuration, the fixes, and the remaining findings
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
    // A fix must not break a readable file; an alias shares text between tools that need different names.
    if (!next.configuration || countFixable(left) >= countFixable(findings)) break
    fixed.push(...applied.fixed)
    current = next
    findings = left
  }
  return { read: current, fixed, findings }
}

function countFixable(findings: readonly Finding[]): number {
  return findings.filter(({ fix }) => fix !== undefined).length
}

/** Applies the first of overlapping fixes, and none of the others. */
function applyFixes(text: string, findings: readonly Finding[]): { text: string; fixed: Fixed[] } {
  const fixed: Fixed[] = []
  const pieces: string[] = []
  let last = 0
  const fixes = findings.flatMap((finding) => (finding.fix ? [{ finding, ...finding.fix }] : []))
  fixes.sort((a, b) => a.range.start.offset - b.range.start.offset)
  for (const { finding, range, text: now } of fixes) {
    const [start, end] = [range.start.offset, range.end.offset]
    if (start < last) continue
    pieces.push(text.slice(last, start), now)
    last = end
    // Includes the dot, which shows the kind of name.
    const dot = text[start - 1] === '.' ? '.' : ''
    fixed.push({ finding, was: dot + text.slice(start, end), now: dot + now })
  }
  return { text: pieces.join('') + text.slice(last), fixed }
}
