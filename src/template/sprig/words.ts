import { byteLength, byteSlice } from '../bytes.ts'

/** Texts made shorter or narrower, as goutils does. */

/** goutils' AbbreviateFull; lengths are bytes. */
export function abbreviate(text: string, left: number, width: number): string {
  const size = byteLength(text)
  if (width < 4 || size <= width) return text
  let offset = Math.min(left, size)
  if (size - offset < width - 3) offset = size - (width - 3)
  if (offset <= 4) return `${byteSlice(text, 0, width - 3)}...`
  if (width < 7) return ''
  if (offset + width - 3 < size) return `...${abbreviate(byteSlice(text, offset, size), 0, width - 3)}`
  return `...${byteSlice(text, size - (width - 3), size)}`
}

/** goutils' WrapCustom. */
export function wrap(text: string, width: number, separator: string, longWords: boolean): string {
  const length = Math.max(1, width)
  const lines: string[] = []
  let at = 0
  while (text.length - at > length) {
    if (text[at] === ' ') {
      at++
      continue
    }
    // Looked for within the line only: the way back to the last one may be long.
    const space = at + text.slice(at, at + length + 1).lastIndexOf(' ')
    if (space >= at) {
      lines.push(text.slice(at, space))
      at = space + 1
    } else if (longWords) {
      lines.push(text.slice(at, at + length))
      at += length
    } else {
      const next = text.indexOf(' ', at + length)
      if (next < 0) break
      lines.push(text.slice(at, next))
      at = next + 1
    }
  }
  lines.push(text.slice(at))
  return lines.join(separator)
}
