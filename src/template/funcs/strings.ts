import { execFault, Fault } from '../errors.ts'
import { byteLength, byteSlice } from '../fmt/bytes.ts'
import { quote } from '../fmt/strconv.ts'
import { typedList } from '../values.ts'
import { camelCase, lowerCase, snakeCase, swapCase, titleCase, untitle, upperCase } from './cases.ts'
import { newMap, toText, toTexts } from './convert.ts'
import { define, type FunctionEntry, type Host } from './define.ts'

const text = (name: string, doc: string, change: (value: string) => unknown) =>
  define(`${name} text:string`, doc, ([value]) => change(value as string))

const pair = (signature: string, doc: string, call: (a: string, b: string) => unknown) =>
  define(signature, doc, ([a, b]) => call(a as string, b as string))

export const strings: readonly FunctionEntry[] = [
  text('trim', 'Without white space at both ends', (value) => value.trim()),
  text('upper', 'In upper case', upperCase),
  text('lower', 'In lower case', lowerCase),
  text('title', 'Each word with a capital', titleCase),
  text('untitle', 'Each word without a capital', untitle),
  text('swapcase', 'Upper case for lower case and the reverse', swapCase),
  text('nospace', 'Without any white space', (value) => value.replace(/\s/gu, '')),
  text('initials', 'The first letter of each word', (value) =>
    value
      .split(/\s+/u)
      .map((word) => (word === '' ? '' : String.fromCodePoint(word.codePointAt(0)!)))
      .join(''),
  ),
  text('snakecase', 'Words joined by _', (value) => snakeCase(value, '_')),
  text('kebabcase', 'Words joined by -', (value) => snakeCase(value, '-')),
  text('camelcase', 'Words with capitals, joined', camelCase),
  define('repeat count:int text:string', 'The text several times', ([count, value], host) =>
    repeat(value as string, Number(count), host),
  ),
  define('substr start:int end:int text:string', 'The bytes from start up to end', ([start, end, value]) =>
    substring(Number(start), Number(end), value as string),
  ),
  define(
    'trunc length:int text:string',
    'The first bytes, or with a negative length the last ones',
    ([count, value]) => truncate(Number(count), value as string),
  ),
  define('abbrev width:int text:string', 'Shortened with …', ([width, value]) =>
    abbreviate(value as string, 0, Number(width)),
  ),
  define(
    'abbrevboth left:int width:int text:string',
    'Shortened with … at both ends',
    ([left, width, value]) =>
      Number(width) < 4 || (Number(left) > 0 && Number(width) < 7)
        ? value
        : abbreviate(value as string, Number(left), Number(width)),
  ),
  pair('trimAll characters:string text:string', 'Without these characters at both ends', trimAll),
  pair('trimall characters:string text:string', 'The same as trimAll', trimAll),
  pair('trimPrefix prefix:string text:string', 'Without the prefix', (prefix, value) =>
    prefix !== '' && value.startsWith(prefix) ? value.slice(prefix.length) : value,
  ),
  pair('trimSuffix suffix:string text:string', 'Without the suffix', (suffix, value) =>
    suffix !== '' && value.endsWith(suffix) ? value.slice(0, -suffix.length) : value,
  ),
  pair('contains part:string text:string', 'True when the text contains the part', (part, value) =>
    value.includes(part),
  ),
  pair('hasPrefix prefix:string text:string', 'True when the text begins so', (prefix, value) =>
    value.startsWith(prefix),
  ),
  pair('hasSuffix suffix:string text:string', 'True when the text ends so', (suffix, value) =>
    value.endsWith(suffix),
  ),
  define('replace old:string new:string text:string', 'All occurrences replaced', (args, host) =>
    replaceAll(...(args as [string, string, string]), host),
  ),
  define('quote values:any...', 'Each value in double quotes', (args, host) =>
    present(args)
      .map((arg) => quoted(arg, host))
      .join(' '),
  ),
  define('squote values:any...', 'Each value in single quotes', (args, host) =>
    present(args)
      .map((arg) => `'${toText(arg, host)}'`)
      .join(' '),
  ),
  define('cat values:any...', 'The values with spaces between', (args, host) =>
    present(args)
      .map((arg) => toText(arg, host))
      .join(' '),
  ),
  define('indent spaces:int text:string', 'Each line indented', ([spaces, value], host) =>
    indent(Number(spaces), value as string, host),
  ),
  define(
    'nindent spaces:int text:string',
    'A line break, then each line indented',
    ([spaces, value], host) => `\n${indent(Number(spaces), value as string, host)}`,
  ),
  define('plural one:string many:string count:int', 'one when count is 1, else many', ([one, many, count]) =>
    count === 1n ? one : many,
  ),
  define('wrap width:int text:string', 'Lines of at most this width', ([width, value], host) =>
    wrapped(value as string, Number(width), '\n', false, host),
  ),
  define(
    'wrapWith width:int separator:string text:string',
    'The same with another line separator',
    ([width, by, value], host) => wrapped(value as string, Number(width), by as string, true, host),
  ),
  define('toString value:any', 'The value as text', ([value], host) => toText(value, host)),
  define('toStrings list:any', 'The items as texts', ([list], host) =>
    typedList('[]string', toTexts(list, host)),
  ),
  define('join separator:string list:any', 'The items as one text', ([separator, list], host) =>
    joined(toTexts(list, host), separator as string, host),
  ),
  define('splitList separator:string text:string', 'The parts as a list', ([separator, value], host) =>
    parts(separator as string, value as string, host),
  ),
  define(
    'split separator:string text:string',
    'The parts as a map with the keys _0, _1, …',
    ([separator, value], host) => numbered(parts(separator as string, value as string, host), host),
  ),
  define(
    'splitn separator:string count:int text:string',
    'The same with at most count parts',
    ([separator, count, value], host) =>
      numbered(partsUpTo(separator as string, Number(count), value as string, host), host),
  ),
]

function quoted(value: unknown, host: Host): string {
  const text = toText(value, host)
  if (typeof value !== 'string') host.charge(text.length >> 3)
  return quote(text, false)
}

/** A line takes longer than its letters. */
function wrapped(value: string, width: number, by: string, longWords: boolean, host: Host): string {
  host.charge(Math.trunc(value.length / Math.max(1, width)) >> 1)
  return wrap(value, width, by, longWords)
}

function present(values: readonly unknown[]): unknown[] {
  return values.filter((value) => value !== null && value !== undefined)
}

function repeat(value: string, count: number, host: Host): string {
  if (count < 0) throw execFault('negative repeat count')
  if (value.length * count > host.max) throw new Fault('limit', `a text is longer than ${host.max}`)
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

function trimAll(characters: string, value: string): string {
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
  if (old === '') host.charge(value.length >> 1)
  const pieces = old === '' ? ['', ...Array.from(value), ''] : value.split(old)
  if (value.length + (pieces.length - 1) * by.length > host.max) {
    throw new Fault('limit', `a text is longer than ${host.max}`)
  }
  return pieces.join(by)
}

function indent(spaces: number, value: string, host: Host): string {
  if (spaces < 0) throw execFault('negative repeat count')
  const pad = repeat(' ', spaces, host)
  return pad + replaceAll('\n', `\n${pad}`, value, host)
}

function joined(items: readonly string[], separator: string, host: Host): string {
  const size = items.reduce((sum, item) => sum + item.length + separator.length, 0)
  if (size > host.max) throw new Fault('limit', `a text is longer than ${host.max}`)
  return items.join(separator)
}

function parts(separator: string, value: string, host: Host): string[] {
  if (separator === '') host.charge(value.length >> 1)
  return typedList('[]string', separator === '' ? Array.from(value) : value.split(separator))
}

/** Go's strings.SplitN: the last part keeps the rest; 0 gives none, a negative count all. */
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
