import { printable } from '../text/index.ts'
import type { Range } from './finding.ts'

/** A file, with the offset of each line's first character. */
export interface Lines {
  text: string
  starts: readonly number[]
}

interface Frame {
  /** Number and text of each line shown; the last one is the marked one. */
  lines: { number: number; text: string }[]
  /** White space, then carets, to stand below the last line. */
  marks: string
}

/** UTF-16 units shown on either side of the column at most: enough for any terminal. */
const NEAR = 500

/**
 * The marked line and the one before it, cut to `width` columns around the place. Tabs and control characters are
 * replaced, so that the columns are right.
 */
export function frameOf({ text, starts }: Lines, { start, end }: Range, width: number): Frame | undefined {
  const index = start.line - 1
  const begin = starts[index]
  if (begin === undefined) return undefined
  const column = start.column - 1
  const whole = lineAt(text, starts, index)
  const skipped = Math.max(0, column - NEAR)
  const cells = cellsOf(whole.slice(skipped, column + NEAR))
  // A range over several lines is marked to the end of its first one.
  const last = end.line === start.line ? end.column - 1 : whole.length
  const first = columnOf(cells, column - skipped)
  const stop = Math.max(first + 1, columnOf(cells, last - skipped))
  const total = columnOf(cells, Number.POSITIVE_INFINITY)
  const from = windowStart(first, stop, total, width)
  const lines = [{ number: index + 1, text: cut(cells, from, width, skipped > 0) }]
  const before = index > 0 ? lineAt(text, starts, index - 1).slice(0, NEAR) : ''
  if (before.trim() && from === 0 && skipped === 0) {
    lines.unshift({ number: index, text: cut(cellsOf(before), 0, width, false) })
  }
  const length = Math.max(1, Math.min(stop, from + width) - first)
  return { lines, marks: ' '.repeat(first - from) + '^'.repeat(length) }
}

function lineAt(text: string, starts: readonly number[], index: number): string {
  const next = starts[index + 1]
  return text.slice(starts[index], next === undefined ? undefined : next - 1).replace(/\r$/, '')
}

interface Cell {
  text: string
  /** Columns on a terminal: 0, 1 or 2. */
  width: number
  /** Offset in the line, in UTF-16 units. */
  offset: number
  /** Column at which it begins. */
  column: number
}

const TAB = '    '
/** Created on first use: loading its data takes longer than checking most files. */
let segmenter: Intl.Segmenter | undefined

function cellsOf(line: string): Cell[] {
  if (/^[\x20-\x7e]*$/.test(line))
    return Array.from(line, (text, i) => ({ text, width: 1, offset: i, column: i }))
  const cells: Cell[] = []
  let column = 0
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  for (const { segment, index } of segmenter.segment(line)) {
    const text = segment === '\t' ? TAB : printable(segment)
    const width = segment === '\t' ? TAB.length : widthOf(segment)
    cells.push({ text, width, offset: index, column })
    column += width
  }
  return cells
}

/** The column of the cell that holds an offset, or of the end. */
function columnOf(cells: readonly Cell[], offset: number): number {
  const last = cells.at(-1)
  if (!last) return 0
  // From the end: the first cell that begins at or before the offset holds it.
  if (offset > last.offset) return last.column + last.width
  return (cells.findLast((cell) => cell.offset <= offset) ?? cells[0]!).column
}

/** Cuts a long line on the left only as far as needed to show the place in the middle third. */
function windowStart(first: number, stop: number, total: number, width: number): number {
  if (total <= width || stop <= width - 1) return 0
  return Math.max(0, Math.min(first - Math.floor(width / 3), total - width))
}

function cut(cells: readonly Cell[], from: number, width: number, more: boolean): string {
  const shown = cells.filter((cell) => cell.column >= from && cell.column + cell.width <= from + width)
  const left = from > 0 || more
  const right = shown.at(-1) !== cells.at(-1)
  const texts = shown.map(({ text }) => text)
  // The dots take the place of a cell, and are as wide.
  if (left && shown.length) texts[0] = '…'.padEnd(shown[0]!.width, ' ')
  if (right && shown.length) texts[texts.length - 1] = '…'.padEnd(shown.at(-1)!.width, ' ')
  const pad = shown.length ? ' '.repeat(shown[0]!.column - from) : ''
  return (pad + texts.join('')).trimEnd()
}

const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|^[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|^\p{Emoji_Presentation}/u

function widthOf(grapheme: string): number {
  if (WIDE.test(grapheme) || grapheme.includes('\ufe0f')) return 2
  return /^[\p{Mn}\p{Me}]+$/u.test(grapheme) ? 0 : 1
}
