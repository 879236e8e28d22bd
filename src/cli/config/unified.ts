import { structuredPatch } from 'diff'

/** With more changed lines than these the shortest way is not looked for: all old lines go, all new ones come. */
const MAX_EDITS = 1000

/** The difference of two texts in the unified format of diff(1); empty when they are equal. */
export function unifiedDiff(from: string, to: string, before: string, after: string): string {
  if (before === after) return ''
  const options = { context: 3, maxEditLength: MAX_EDITS }
  const hunks = structuredPatch(from, to, before, after, '', '', options)?.hunks ?? [whole(before, after)]
  const texts = hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => {
    return `@@ -${span(oldStart, oldLines)} +${span(newStart, newLines)} @@\n${lines.join('\n')}\n`
  })
  return `--- ${from}\n+++ ${to}\n${texts.join('')}`
}

function whole(before: string, after: string) {
  const [olds, news] = [linesOf(before), linesOf(after)]
  const lines = [...marked('-', olds, before), ...marked('+', news, after)]
  return { oldStart: 1, oldLines: olds.length, newStart: 1, newLines: news.length, lines }
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g)?.map((line) => line.replace(/\n$/, '')) ?? []
}

function marked(sign: string, lines: readonly string[], text: string): string[] {
  const end = text === '' || text.endsWith('\n') ? [] : ['\\ No newline at end of file']
  return [...lines.map((line) => sign + line), ...end]
}

/** A span without lines names the line before it. */
function span(line: number, count: number): string {
  return count === 1 ? `${line}` : `${count === 0 ? line - 1 : line},${count}`
}
