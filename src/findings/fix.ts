import type { Finding } from './finding.ts'

/**
 * Applies the fixes of one file's findings; of two that overlap only the first. Nothing but the text of their
 * ranges changes.
 * @returns the text, and the findings that were mended
 */
export function applyFixes(text: string, findings: readonly Finding[]): { text: string; fixed: Finding[] } {
  const fixed: Finding[] = []
  const pieces: string[] = []
  let last = 0
  const ordered = findings
    .filter((one) => one.fix !== undefined)
    .sort((a, b) => a.fix!.range.start.offset - b.fix!.range.start.offset)
  for (const one of ordered) {
    const { range, text: written } = one.fix!
    if (range.start.offset < last) continue
    pieces.push(text.slice(last, range.start.offset), written)
    last = range.end.offset
    fixed.push(one)
  }
  return { text: pieces.join('') + text.slice(last), fixed }
}
