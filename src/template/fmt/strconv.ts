import { Complex } from '../node.ts'
import { fromBytes } from './bytes.ts'

/** Quoting as Go's strconv does. */

const ESCAPES: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
}
/** Go's IsPrint: letters, marks, numbers, punctuation, symbols and the ASCII space. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

/** What may have to be escaped. */
const ODD = /[^ !#-[\]-~]/gu

export function isPrintable(char: string): boolean {
  return PRINTABLE.test(char)
}

/** A double-quoted Go string; a lone surrogate stands for the byte it holds (see bytes.ts). */
export function quote(text: string, ascii: boolean): string {
  return `"${text.replace(ODD, (char) => (char === '"' ? '\\"' : escaped(char, ascii)))}"`
}

/** A single-quoted Go rune. */
export function quoteChar(char: string, ascii: boolean): string {
  return `'${char === "'" ? "\\'" : escaped(char, ascii)}'`
}

function escaped(char: string, ascii: boolean): string {
  const known = ESCAPES[char]
  if (known !== undefined) return known
  const code = char.codePointAt(0)!
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${hex(code - 0xdc00, 2)}`
  if (code >= 0xd800 && code <= 0xdfff) return ascii ? '\\ufffd' : '\ufffd'
  if (code < 0x80 || !ascii) {
    if (isPrintable(char)) return char
  }
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`
}

function hex(code: number, width: number): string {
  return code.toString(16).padStart(width, '0')
}

/** One line without control characters other than tab and without a backquote. */
export function canBackquote(text: string): boolean {
  return !/[\x00-\x08\x0a-\x1f`\x7f\ufeff]|\p{Surrogate}/u.test(text)
}

const SIMPLE: Record<string, number> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': 92 }

/**
 * Reads a Go string literal, quotes included.
 * @returns undefined for wrong syntax
 */
export function unquote(literal: string): string | undefined {
  const quote = literal[0]!
  const body = literal.slice(1, -1)
  if (quote === '`') return body.replaceAll('\r', '')
  if (!body.includes('\\')) return body
  const parts: number[] = []
  for (let at = 0; at < body.length; ) {
    const unit = readUnit(body, at, '"')
    if (!unit) return undefined
    if (unit.byte) parts.push(unit.code)
    else parts.push(...new TextEncoder().encode(String.fromCodePoint(unit.code)))
    at = unit.next
  }
  return fromBytes(Uint8Array.from(parts))
}

/**
 * Reads a Go rune literal, quotes included.
 * @returns the code point, or undefined for wrong syntax
 */
export function unquoteChar(literal: string): number | undefined {
  const body = literal.slice(1, -1)
  if (body === '') return undefined
  const unit = readUnit(body, 0, "'")
  return unit && unit.next === body.length ? unit.code : undefined
}

type Unit = { code: number; byte: boolean; next: number }

function readUnit(body: string, at: number, quote: string): Unit | undefined {
  if (body[at] !== '\\') {
    const code = body.codePointAt(at)!
    return {
      code: code >= 0xd800 && code < 0xe000 ? 0xfffd : code,
      byte: false,
      next: at + (code > 0xffff ? 2 : 1),
    }
  }
  const letter = body[at + 1] ?? ''
  if (Object.hasOwn(SIMPLE, letter)) return { code: SIMPLE[letter]!, byte: false, next: at + 2 }
  if (letter === quote) return { code: quote.charCodeAt(0), byte: false, next: at + 2 }
  const digits = { x: 2, u: 4, U: 8 }[letter]
  if (digits !== undefined) {
    const hex = body.slice(at + 2, at + 2 + digits)
    if (hex.length !== digits || !/^[0-9a-fA-F]+$/.test(hex)) return undefined
    const code = Number.parseInt(hex, 16)
    if (code > 0x10ffff || (letter !== 'x' && code >= 0xd800 && code < 0xe000)) return undefined
    return { code, byte: letter === 'x', next: at + 2 + digits }
  }
  const octal = body.slice(at + 1, at + 4)
  if (!/^[0-7]{3}$/.test(octal)) return undefined
  const code = Number.parseInt(octal, 8)
  return code > 255 ? undefined : { code, byte: true, next: at + 4 }
}

const MAX_INT = 2n ** 63n - 1n
const MIN_INT = -(2n ** 63n)
const MAX_UINT = 2n ** 64n - 1n
/** Underscores only between digits or after the base prefix. */
const INTEGER = /^[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[oO]?(?:_?[0-7])+|0[bB](?:_?[01])+|[1-9](?:_?[0-9])*|0)$/
const DECIMAL = /^[+-]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?$/
const HEX_FLOAT = /^([+-]?)0[xX]([0-9a-fA-F_]*)(?:\.([0-9a-fA-F_]*))?[pP]([+-]?\d[\d_]*)$/
/** Longer texts are not numbers: reading the digits of one takes long. */
const MAX_LENGTH = 400

export type ParsedNumber = { value: bigint | number | Complex } | { error: string }

/** Reads a number as Go's text/template does: an int (bigint), a float64 (number) or a complex128. */
export function parseNumber(text: string): ParsedNumber {
  if (text.endsWith('i')) return parseComplex(text)
  const integer = parseInteger(text)
  if (integer !== undefined) {
    if (integer > MAX_UINT || integer < MIN_INT) return { error: `integer overflow: "${text}"` }
    return { value: integer }
  }
  const float = parseFloatText(text)
  if (float === undefined) return { error: `bad number syntax: "${text}"` }
  if (!/[.eEpP]/.test(text)) return { error: `integer overflow: "${text}"` }
  return { value: float }
}

/** True for constants that Go's parser takes and its executor refuses. */
export function overflowsInt(value: bigint): boolean {
  return value > MAX_INT
}

export function parseInteger(text: string): bigint | undefined {
  if (text.length > MAX_LENGTH || !INTEGER.test(text) || /_$/.test(text)) return undefined
  const negative = text[0] === '-'
  let digits = text.replace(/^[+-]/, '').replaceAll('_', '')
  if (/^0[0-7]+$/.test(digits)) digits = `0o${digits.slice(1)}`
  const value = BigInt(digits.toLowerCase())
  return negative ? -value : value
}

/** @returns undefined for wrong syntax or a value out of range */
export function parseFloatText(text: string): number | undefined {
  if (text.length > MAX_LENGTH || /__|_$|_[.eEpP]|[.eEpP+-]_/.test(text)) return undefined
  const hex = HEX_FLOAT.exec(text)
  if (hex) {
    const fraction = (hex[3] ?? '').replaceAll('_', '')
    const digits = hex[2]!.replaceAll('_', '') + fraction
    if (digits === '') return undefined
    const mantissa = Number(`0x${digits}`)
    const exponent = Number(hex[4]!.replaceAll('_', '')) - 4 * fraction.length
    const value = mantissa * 2 ** exponent
    if (!Number.isFinite(value)) return undefined
    return hex[1] === '-' ? -value : value
  }
  if (!DECIMAL.test(text)) return undefined
  const value = Number(text.replaceAll('_', ''))
  return Number.isFinite(value) ? value : undefined
}

function parseComplex(text: string): ParsedNumber {
  if (text.length > MAX_LENGTH) return { error: `bad number syntax: "${text}"` }
  let split = -1
  for (const { index } of text.slice(0, -1).matchAll(/(?<=[^eEpP])[+-]/g)) split = index
  if (split <= 0) {
    // Go reads it as a float only: 017i is 17i, and 0x1i is no number.
    const im = parseFloatText(text.slice(0, -1))
    return im === undefined ? { error: `bad number syntax: "${text}"` } : { value: new Complex(0, im) }
  }
  const re = parseReal(text.slice(0, split))
  const im = parseReal(text.slice(split, -1))
  if (re === undefined || im === undefined) return { error: `bad number syntax: "${text}"` }
  return { value: new Complex(re, im) }
}

function parseReal(text: string): number | undefined {
  const integer = parseInteger(text)
  return integer === undefined ? parseFloatText(text) : Number(integer)
}

/** Formats doubles as Go's strconv.FormatFloat and fmt do. */

/** Go's `%v` of a float64: the shortest digits, as `%e` for exponents below -4 and above 5. */
export function formatShortest(value: number): string {
  return formatFloat(value, 'g', -1)
}

/**
 * @param verb `e`, `E`, `f`, `g` or `G`
 * @param precision digits after the point (`e`, `f`) or significant digits (`g`); -1 for the shortest
 */
export function formatFloat(value: number, verb: string, precision: number): string {
  if (Number.isNaN(value)) return 'NaN'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  if (!Number.isFinite(value)) return sign === '' ? '+Inf' : '-Inf'
  const magnitude = Math.abs(value)
  const text = formatMagnitude(magnitude, verb.toLowerCase(), precision)
  return sign + (verb === 'E' || verb === 'G' ? text.toUpperCase() : text)
}

function formatMagnitude(value: number, verb: string, precision: number): string {
  if (verb === 'e') return goExponent(precision < 0 ? value.toExponential() : exponential(value, precision))
  if (verb === 'f') return precision < 0 ? plain(value) : fixed(value, precision)
  const shortest = precision < 0
  const wanted = precision === 0 ? 1 : precision
  const text = shortest ? value.toExponential() : exponential(value, wanted - 1)
  const [mantissa = '0', exponentText = '0'] = text.split('e')
  const exponent = Number(exponentText)
  const digits = mantissa.replace('.', '').replace(/(?<!0)0+$/, '')
  // Go compares with the number of digits it has, when those are fewer and the value is an integer.
  let limit = wanted
  if (limit > digits.length && digits.length >= exponent + 1) limit = digits.length
  if (shortest) limit = 6
  if (exponent < -4 || exponent >= limit) {
    const rest = digits.slice(1)
    return goExponent(`${digits[0] ?? '0'}${rest === '' ? '' : `.${rest}`}e${exponent}`)
  }
  return placePoint(digits === '' ? '0' : digits, exponent)
}

/** The exponent with a sign and at least two digits. */
function goExponent(text: string): string {
  return text.replace(/e([+-]?)(\d+)$/, (_, sign, digits) => `e${sign || '+'}${digits.padStart(2, '0')}`)
}

function placePoint(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`
  if (digits.length <= exponent + 1) return digits.padEnd(exponent + 1, '0')
  return `${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`
}

function plain(value: number): string {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e')
  return placePoint(mantissa.replace('.', ''), Number(exponent))
}

/** `toExponential` rounds half away from zero on the exact value and knows 100 digits; more are zeros or exact. */
function exponential(value: number, precision: number): string {
  if (precision <= 100 && !isTie(value)) return value.toExponential(precision)
  const { digits, exponent } = exactDecimal(value)
  return roundDigits(digits, exponent, precision + 1)
}

function fixed(value: number, precision: number): string {
  if (value < 1e21 && precision <= 100 && !isTie(value)) return value.toFixed(precision)
  const { digits, exponent } = exactDecimal(value)
  const wanted = exponent + 1 + precision
  if (wanted < 0) return placePoint('0', 0) + (precision > 0 ? `.${'0'.repeat(precision)}` : '')
  const [mantissa = '0', rounded = '0'] = roundDigits(`0${digits}`, exponent + 1, wanted + 1).split('e')
  const all = mantissa.replace('.', '')
  const whole = Number(rounded) + 1
  const head = all.slice(0, whole).replace(/^0+(?=\d)/, '') || '0'
  return precision > 0 ? `${head}.${all.slice(whole, whole + precision).padEnd(precision, '0')}` : head
}

/** A double with few binary digits may lie exactly between two decimals, where Go rounds to even. */
function isTie(value: number): boolean {
  return value !== 0 && Number.isInteger(value * 2 ** 30)
}

/** All decimal digits of a double: 0.d1d2d3… × 10^(exponent + 1). */
function exactDecimal(value: number): { digits: string; exponent: number } {
  if (value === 0) return { digits: '0', exponent: 0 }
  let shift = 0
  let scaled = value
  while (!Number.isInteger(scaled)) {
    scaled *= 2
    shift++
  }
  // value = n / 2^shift = n * 5^shift / 10^shift
  const digits = (BigInt(scaled) * 5n ** BigInt(shift)).toString()
  return { digits: digits.replace(/(?<!0)0+$/, '') || '0', exponent: digits.length - 1 - shift }
}

/** Rounds half to even to `count` digits, in the form of `toExponential`. */
function roundDigits(digits: string, exponent: number, count: number): string {
  let kept = digits.slice(0, count).padEnd(count, '0')
  let power = exponent
  const rest = digits.slice(count)
  const half =
    rest[0] === undefined
      ? -1
      : rest[0] > '5' || (rest[0] === '5' && /[1-9]/.test(rest.slice(1)))
        ? 1
        : rest[0] === '5'
          ? 0
          : -1
  if (half > 0 || (half === 0 && Number(kept[kept.length - 1] ?? '0') % 2 === 1)) {
    const up = (BigInt(kept === '' ? '0' : kept) + 1n).toString().padStart(kept.length, '0')
    if (up.length > kept.length) power++
    kept = up.slice(0, Math.max(count, 1))
  }
  return `${kept[0] ?? '0'}${kept.length > 1 ? `.${kept.slice(1)}` : ''}e${power}`
}
