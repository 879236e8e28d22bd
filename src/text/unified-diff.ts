import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatchHunk, structuredPatch } from 'diff'

/** The difference of two texts in the unified format of diff(1); empty if they are equal. */
export function unifiedDiff(from: string, to: string, before: string, after: string): string {
  if (before === after) return ''
  const hunksOf = (old: string, fresh: string, options = {}) =>
    structuredPatch(from, to, old, fresh, '', '', { context: 3, ...options })?.hunks
  const whole = () => [joined(...hunksOf(before, '')!, ...hunksOf('', after)!)]
  // With more changed lines than these, no shortest difference is computed: all old lines are replaced.
  const hunks = hunksOf(before, after, { maxEditLength: 1000 }) ?? whole()
  const names = { oldFileName: from, newFileName: to, oldHeader: undefined, newHeader: undefined }
  return formatPatch({ ...names, hunks }, FILE_HEADERS_ONLY)
}

function joined(...hunks: StructuredPatchHunk[]): StructuredPatchHunk {
  const sum = (key: 'oldLines' | 'newLines') => hunks.reduce((all, hunk) => all + hunk[key], 0)
  const lines = hunks.flatMap((hunk) => hunk.lines)
  return { oldStart: 1, oldLines: sum('oldLines'), newStart: 1, newLines: sum('newLines'), lines }
}
