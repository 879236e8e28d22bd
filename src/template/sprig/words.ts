import { byteLength, byteSlice } from '../bytes.ts'

/** Changes of words, as strings.Title, goutils and xstrings make them. */

/** Go's strings.Title: letters behind white space or an ASCII sign. */
export function titleCase(text: string): string {
  return text.replace(
    /(^|\s|[\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f])(\p{L})/gu,
    (_, before: string, letter: string) => before + letter.toUpperCase(),
  )
}

export function untitle(text: string): string {
  return text.replace(/(^|\s)(\p{L})/gu, (_, before: string, letter: string) => before + letter.toLowerCase())
}

export function swapCase(text: string): string {
  return text.replace(/\p{L}/gu, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
}

/** Words of any case: capitals, digits that begin a word in lower case, and runs of capitals are told apart. */
const WORD =
  /\d+\p{Ll}[\p{Ll}\d]*|\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{Ll}+(?:\d+(?![\p{Ll}\d]))?|\p{Lu}+(?:\d+(?![\p{Ll}\d]))?|\d+|[^\p{L}\d\s_-]+|\p{L}+/gu

export function snakeCase(text: string, joiner: string): string {
  return edges(text, joiner, (inner) =>
    (inner.match(WORD) ?? []).map((word) => word.toLowerCase()).join(joiner),
  )
}

export function camelCase(text: string): string {
  return edges(text, '_', (inner) =>
    (inner.match(WORD) ?? []).map((word) => word[0]!.toUpperCase() + word.slice(1).toLowerCase()).join(''),
  )
}

/** Joiners at both ends stay. */
function edges(text: string, joiner: string, change: (inner: string) => string): string {
  let from = 0
  let to = text.length
  while (from < to && /[\s_-]/.test(text[from]!)) from++
  while (to > from && /[\s_-]/.test(text[to - 1]!)) to--
  return joiner.repeat(from) + change(text.slice(from, to)) + joiner.repeat(text.length - to)
}

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
