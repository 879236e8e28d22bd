/** A place in a text. `line` and `column` count from 1, `offset` from 0, all in UTF-16 units. */
export interface Position {
  line: number
  column: number
  offset: number
}

/** The offset of each line's first character. */
export function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** Offsets → positions, those beyond the text at its end; lines are looked for when the first one is asked for. */
export function positionsOf(text: string): (offset: number) => Position {
  let starts: number[] | undefined
  return (wanted) => {
    starts ??= lineStarts(text)
    const offset = Math.max(0, Math.min(wanted, text.length))
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - starts[low]! + 1, offset }
  }
}
