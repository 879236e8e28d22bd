import { printable } from '../findings/frame.ts'

/** Columns for people; the last one is as long as it is. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((row) => row.map((cell) => printable(cell.replace(/\s+/g, ' '))))
  const widths = head.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)))
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}
