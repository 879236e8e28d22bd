import { execFault } from '../errors.ts'
import { byteLength, byteSlice } from '../fmt/bytes.ts'
import { quote } from '../fmt/strconv.ts'
import type { Host } from '../types.ts'
import { isMissing, typedList } from '../values.ts'
import { newMap, toText, toTexts } from './convert.ts'
import { checkLength, define, type FunctionEntry } from './define.ts'

export const strings: readonly FunctionEntry[] = [
  define('trim text', 'Without white space at both ends', ([text]) => text.trim()),
  define('upper text', 'In upper case', ([text], host) => upperCase(text, host)),
  define('lower text', 'In lower case', ([text], host) => lowerCase(text, host)),
  define('title text', 'Each word capitalized', ([text]) => titleCase(text)),
  define('untitle text', 'Each word with a small first letter', ([text]) => untitle(text)),
  define('swapcase text', 'Upper case for lower case and vice versa', ([text]) => swapCase(text)),
  define('nospace text', 'Without any white space', ([text]) => text.replace(/\s/gu, '')),
  define('initials text', 'The first letter of each word', ([text]) => initials(text)),
  define('snakecase text', 'Words joined by _', ([text]) => snakeCase(text, '_')),
  define('kebabcase text', 'Words joined by -', ([text]) => snakeCase(text, '-')),
  define('camelcase text', 'Words capitalized and joined', ([text]) => camelCase(text)),
  define('repeat count:int text', 'The string repeated', ([count, text], host) =>
    repeat(text, Number(count), host),
  ),
  define('substr start:int end:int text', 'The bytes from start up to end', ([start, end, text]) =>
    substring(Number(start), Number(end), text),
  ),
  define('trunc length:int text', 'The first bytes; the last ones for a negative length', ([count, text]) =>
    truncate(Number(count), text),
  ),
  define('abbrev width:int text', 'Shortened, with ... at the end', ([width, text]) =>
    abbreviate(text, 0, Number(width)),
  ),
  define('abbrevboth left:int width:int text', 'Shortened, with ... at both ends', ([left, width, text]) =>
    width < 4n || (left > 0n && width < 7n) ? text : abbreviate(text, Number(left), Number(width)),
  ),
  define('trimAll|trimall characters text', 'Without these characters at both ends', trimAll),
  define('trimPrefix prefix text', 'Without the prefix', ([prefix, text]) =>
    text.startsWith(prefix) ? text.slice(prefix.length) : text,
  ),
  define('trimSuffix suffix text', 'Without the suffix', ([suffix, text]) =>
    text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text,
  ),
  define('contains part text', 'True if the string contains the part', ([part, text]) => text.includes(part)),
  define('hasPrefix prefix text', 'True if the string starts with the prefix', ([prefix, text]) =>
    text.startsWith(prefix),
  ),
  define('hasSuffix suffix text', 'True if the string ends with the suffix', ([suffix, text]) =>
    text.endsWith(suffix),
  ),
  define('replace old new text', 'All occurrences replaced', ([old, by, text], host) =>
    replaceAll(old, by, text, host),
  ),
  define('quote values:any...', 'Each value in double quotes', (args, host) =>
    spaced(args, (arg) => quoted(arg, host)),
  ),
  define('squote values:any...', 'Each value in single quotes', (args, host) =>
    spaced(args, (arg) => `'${toText(arg, host)}'`),
  ),
  define('cat values:any...', 'The values joined by spaces', (args, host) =>
    spaced(args, (arg) => toText(arg, host)),
  ),
  define('indent spaces:int text', 'Each line indented', ([spaces, text], host) =>
    indent(Number(spaces), text, host),
  ),
  define(
    'nindent spaces:int text',
    'A line break, then each line indented',
    ([spaces, text], host) => `\n${indent(Number(spaces), text, host)}`,
  ),
  define('plural one many count:int', 'one if count is 1, else many', ([one, many, count]) =>
    count === 1n ? one : many,
  ),
  define('wrap width:int text', 'Lines of at most this width', ([width, text], host) =>
    wrap(text, Number(width), '\n', false, host),
  ),
  define(
    'wrapWith width:int separator text',
    'The same with another line separator; longer words are broken',
    ([width, by, text], host) => wrap(text, Number(width), by, true, host),
  ),
  define('toString value:any', 'The value as a string', ([value], host) => toText(value, host)),
  define('toStrings list:any', 'The items as strings', ([list], host) =>
    typedList('[]string', toTexts(list, host)),
  ),
  define('join separator list:any', 'The items as one string', ([separator, list], host) =>
    joined(toTexts(list, host), separator, host),
  ),
  define('splitList separator text', 'The parts as an array', ([separator, text], host) =>
    parts(separator, text, host),
  ),
  define(
    'split separator text',
    'The parts as an object with the keys _0, _1, …',
    ([separator, text], host) => numbered(parts(separator, text, host), host),
  ),
  define(
    'splitn separator count:int text',
    'The same with at most count parts',
    ([separator, count, text], host) => numbered(partsUpTo(separator, Number(count), text, host), host),
  ),
].flat()

function initials(text: string): string {
  const words = text.split(/\s+/u).filter((word) => word !== '')
  return words.map((word) => String.fromCodePoint(word.codePointAt(0)!)).join('')
}

function quoted(value: unknown, host: Host): string {
  const text = toText(value, host)
  host.charge(text.length >> (typeof value === 'string' ? 4 : 3))
  return quote(text, false)
}

/** The texts of all values that are present. */
function spaced(values: readonly unknown[], write: (value: unknown) => string): string {
  return values
    .filter((value) => !isMissing(value))
    .map(write)
    .join(' ')
}

function repeat(value: string, count: number, host: Host): string {
  if (count < 0) throw execFault('negative repeat count')
  checkLength(value.length * count, host)
  return value.repeat(count)
}

function substring(start: number, end: number, value: string): string {
  const size = byteLength(value)
  const to = start >= 0 && (end < 0 || end > size) ? size : end
  const from = Math.max(start, 0)
  if (to < from || to > size) throw execFault('slice bounds out of range')
  return byteSlice(value, from, to)
}

function truncate(count: number, value: string): string {
  const size = byteLength(value)
  if (count < 0) return size + count > 0 ? byteSlice(value, size + count, size) : value
  return size > count ? byteSlice(value, 0, count) : value
}

function trimAll([characters, value]: [string, string]): string {
  const set = new Set(characters)
  let from = 0
  let to = value.length
  while (from < to) {
    const char = String.fromCodePoint(value.codePointAt(from)!)
    if (!set.has(char)) break
    from += char.length
  }
  while (to > from) {
    const char = lastChar(value, to)
    if (!set.has(char)) break
    to -= char.length
  }
  return value.slice(from, to)
}

function lastChar(value: string, end: number): string {
  const two = value.slice(Math.max(0, end - 2), end)
  return two.codePointAt(0)! > 0xffff ? two : two.slice(-1)
}

function replaceAll(old: string, by: string, value: string, host: Host): string {
  if (old.length === 1 && value.length > STRETCH) return replaceInStretches(old, by, value, host)
  if (old === '') host.charge(value.length >> 1)
  const pieces = old === '' ? ['', ...Array.from(value), ''] : value.split(old)
  checkLength(value.length + (pieces.length - 1) * by.length, host)
  return pieces.join(by)
}

/** Maximum code units split at once, as larger pieces survive garbage collection. */
const STRETCH = 4096

/** A single code unit cannot be split, so the text may be cut anywhere. */
function replaceInStretches(unit: string, by: string, value: string, host: Host): string {
  const done: string[] = []
  let length = value.length
  for (let from = 0; from < value.length; from += STRETCH) {
    const pieces = value.slice(from, from + STRETCH).split(unit)
    length += (pieces.length - 1) * by.length
    checkLength(length, host)
    done.push(pieces.join(by))
  }
  return done.join('')
}

function indent(spaces: number, value: string, host: Host): string {
  if (spaces < 0) throw execFault('negative repeat count')
  const pad = repeat(' ', spaces, host)
  return pad + replaceAll('\n', `\n${pad}`, value, host)
}

function joined(items: readonly string[], separator: string, host: Host): string {
  const size = items.reduce((sum, item) => sum + item.length + separator.length, 0)
  checkLength(size, host)
  return items.join(separator)
}

function parts(separator: string, value: string, host: Host): string[] {
  if (separator === '') host.charge(value.length >> 1)
  return typedList('[]string', separator === '' ? Array.from(value) : value.split(separator))
}

/** Go's strings.SplitN: the last part keeps the rest; 0 returns none, a negative count all. */
function partsUpTo(separator: string, count: number, value: string, host: Host): string[] {
  if (count === 0) return []
  const all = parts(separator, value, host)
  if (count < 0 || all.length <= count) return all
  return [...all.slice(0, count - 1), all.slice(count - 1).join(separator)]
}

function numbered(items: readonly string[], host: Host): object {
  host.charge(items.length)
  const map = newMap()
  items.forEach((item, at) => {
    map[`_${at}`] = item
  })
  return map
}

/** Abbreviation and wrapping, as in goutils. */

/** goutils' AbbreviateFull; lengths are bytes. */
function abbreviate(text: string, left: number, width: number): string {
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
function wrap(text: string, width: number, separator: string, longWords: boolean, host: Host): string {
  const length = Math.max(1, width)
  // A line costs more than its letters.
  host.charge(Math.trunc(text.length / length) >> 1)
  const lines: string[] = []
  let at = 0
  while (text.length - at > length) {
    if (text[at] === ' ') {
      at++
      continue
    }
    // Searched only within the line, as the previous space may be far away.
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

/** Case conversion as in Go's strings, goutils and xstrings: one letter always becomes one letter. */

function upperCase(text: string, host: Host): string {
  const all = text.toUpperCase()
  // An equal length means that no letter became two.
  return all.length === text.length ? all : byLetter(text, upper, host)
}

function lowerCase(text: string, host?: Host): string {
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
function titleCase(text: string): string {
  return text.replace(
    /(^|\s|[\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f])(\p{L})/gu,
    (_, before: string, letter: string) => before + upper(letter),
  )
}

function untitle(text: string): string {
  return text.replace(/(^|\s)(\p{L})/gu, (_, before: string, letter: string) => before + lower(letter))
}

function swapCase(text: string): string {
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
function snakeCase(text: string, joiner: string): string {
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
function camelCase(text: string): string {
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
