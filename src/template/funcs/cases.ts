import type { Host } from '../types.ts'
/** Case conversion as in Go's strings, goutils and xstrings: one letter always becomes one letter. */

export function upperCase(text: string, host: Host): string {
  const all = text.toUpperCase()
  // An equal length means that no letter became two.
  return all.length === text.length ? all : byLetter(text, upper, host)
}

export function lowerCase(text: string, host?: Host): string {
  const all = text.toLowerCase()
  // JavaScript writes Σ at the end of a word as another letter than Go does.
  return all.length === text.length && !text.includes('Σ') ? all : byLetter(text, lower, host)
}

function byLetter(text: string, change: (letter: string) => string, host?: Host): string {
  host?.charge(text.length >> 4)
  return text.replace(/\p{L}|\p{M}|\p{N}|\p{S}/gu, change)
}

/** A letter without a single capital, such as ß, stays. */
function upper(char: string): string {
  const capital = char.toUpperCase()
  return capital.length > char.length ? char : capital
}

/** Only İ has a longer lower case; Go keeps its first letter. */
function lower(char: string): string {
  const small = char.toLowerCase()
  return small.length > char.length ? small[0]! : small
}

/** Go's strings.Title: letters after white space or an ASCII sign. */
export function titleCase(text: string): string {
  return text.replace(
    /(^|\s|[\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f])(\p{L})/gu,
    (_, before: string, letter: string) => before + upper(letter),
  )
}

export function untitle(text: string): string {
  return text.replace(/(^|\s)(\p{L})/gu, (_, before: string, letter: string) => before + lower(letter))
}

export function swapCase(text: string): string {
  return text.replace(/\p{L}/gu, (letter) => (letter === lower(letter) ? upper(letter) : lower(letter)))
}

/**
 * The pieces of xstrings: connectors, punctuation, capitalized words or runs of capitals, small letters, digits, and
 * other signs, including ideographs.
 */
const PIECES =
  /[\s_-]+|\p{P}+|\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}\p{Ll}+|\p{Lu}+|(?:(?!\p{Lu}|[\u3400-\u9fff])\p{L})+|\p{N}+|(?:[\u3400-\u9fff]|[^\s\p{L}\p{N}\p{P}])+/gu

/** By the first character, as named groups in the search are slow. */
const TYPES = [
  ['connector', /^[\s_-]/],
  ['punctuation', /^\p{P}/u],
  ['capital', /^\p{Lu}/u],
  ['digits', /^\p{N}/u],
  ['small', /^(?![\u3400-\u9fff])\p{L}/u],
] as const

type Type = (typeof TYPES)[number][0] | 'other'

function typeOf(piece: string): Type {
  for (const [type, form] of TYPES) if (form.test(piece)) return type
  return 'other'
}

/** Small-letter words with the joiner between; digits join the following letters, else the previous word. */
export function snakeCase(text: string, joiner: string): string {
  const all = text.match(PIECES) ?? []
  const types = all.map(typeOf)
  let out = ''
  const loose = (at: number) =>
    types[at] === undefined || types[at] === 'connector' || types[at] === 'punctuation'
  const glued = (at: number) => types[at] === 'small' || types[at] === 'digits'
  for (let at = 0; at < all.length; ) {
    const type = types[at]
    const piece = all[at++]!
    if (type === 'connector') out += joiner.repeat(piece.length)
    else if (type === 'punctuation') out += piece
    else {
      out += type === 'capital' ? lowerCase(piece) : piece
      let digits = type === 'digits'
      if (!digits && types[at] === 'digits') {
        digits = types[at + 1] === 'small'
        out += (digits ? joiner : '') + all[at++]!
      }
      if (digits) while (glued(at)) out += all[at++]!
      if (!loose(at)) out += joiner
    }
  }
  return out
}

/** Capitalized words; of several connectors between them all but one stay, as do those at both ends. */
export function camelCase(text: string): string {
  const all = text.match(/[\s_-]+|[^\s_-]+/g) ?? []
  return all
    .map((piece, at) => {
      if (!/^[\s_-]/.test(piece)) return capitalized(piece)
      return at === 0 || at === all.length - 1 ? piece : piece.slice(1)
    })
    .join('')
}

/** Capitals after the first become small: HTTP is Http. */
function capitalized(word: string): string {
  const capitals = /^\p{Lu}+/u.exec(word)?.[0]
  if (capitals === undefined) return word.replace(/^./su, upper)
  const [first] = capitals
  return first + lowerCase(capitals.slice(first!.length)) + word.slice(capitals.length)
}
