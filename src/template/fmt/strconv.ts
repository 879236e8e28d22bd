import { Complex } from '../node.ts'
import { fromBytes, isSurrogate } from './bytes.ts'

/** Quoting as in Go's strconv. */

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

/** Characters that may need escaping. */
const ODD = /[^ !#-[\]-~]/gu

export function isPrintable(char: string): boolean {
  return PRINTABLE.test(char)
}

/** A double-quoted Go string; lone surrogates represent bytes (see bytes.ts). */
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

/** Whether a backquoted literal is possible: one line without backquote and control characters other than tab. */
export function canBackquote(text: string): boolean {
  return !/[\x00-\x08\x0a-\x1f`\x7f\ufeff]|\p{Surrogate}/u.test(text)
}

/** The code of a character by the letter of its escape. */
const SIMPLE: Record<string, number> = { '"': 34, "'": 39 }
for (const [char, escaped] of Object.entries(ESCAPES)) SIMPLE[escaped[1]!] = char.charCodeAt(0)
/** A character of a literal, or its escape: simple, octal or hexadecimal byte, or code point. */
const UNIT = /\\(?:([abfnrtv\\"'])|([0-7]{3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8}))|[^\\]/guy

/**
 * Reads a Go string literal including quotes.
 * @returns undefined for invalid syntax
 */
export function unquote(literal: string): string | undefined {
  const body = literal.slice(1, -1)
  if (literal[0] === '`') return body.replaceAll('\r', '')
  if (!body.includes('\\')) return body
  const parts = readUnits(body, '"')?.map(({ code, byte }) =>
    byte ? Buffer.of(code) : Buffer.from(String.fromCodePoint(code)),
  )
  return parts && fromBytes(Buffer.concat(parts))
}

/**
 * Reads a Go rune literal including quotes.
 * @returns the code point, or undefined for invalid syntax
 */
export function unquoteChar(literal: string): number | undefined {
  const [unit, ...more] = readUnits(literal.slice(1, -1), "'") ?? []
  return more.length > 0 ? undefined : unit?.code
}

function readUnits(body: string, quote: string): { code: number; byte: boolean }[] | undefined {
  const units: { code: number; byte: boolean }[] = []
  let end = 0
  for (const [text, simple, octal, hex, short, long] of body.matchAll(UNIT)) {
    end += text.length
    const digits = hex ?? short ?? long
    let code = text.codePointAt(0)!
    if (simple !== undefined) code = SIMPLE[simple]!
    else if (octal !== undefined) code = Number.parseInt(octal, 8)
    else if (digits !== undefined) code = Number.parseInt(digits, 16)
    else if (isSurrogate(code)) code = 0xfffd
    if (code > 0x10ffff || isSurrogate(code) || (octal !== undefined && code > 255)) return undefined
    if ((simple === '"' || simple === "'") && simple !== quote) return undefined
    units.push({ code, byte: octal !== undefined || hex !== undefined })
  }
  return end === body.length ? units : undefined
}

const MAX_INT = 2n ** 63n - 1n
const MIN_INT = -(2n ** 63n)
const MAX_UINT = 2n ** 64n - 1n
/** Underscores are allowed only between digits or after the base prefix. */
const INTEGER = /^[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[oO]?(?:_?[0-7])+|0[bB](?:_?[01])+|[1-9](?:_?[0-9])*|0)$/
const DECIMAL = /^[+-]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?$/
const HEX_FLOAT = /^([+-]?)0[xX]([0-9a-fA-F_]*)(?:\.([0-9a-fA-F_]*))?[pP]([+-]?\d[\d_]*)$/
/** Longer texts are not numbers, as parsing them would be slow. */
const MAX_LENGTH = 400

type ParsedNumber = { value: bigint | number | Complex } | { error: string }

/** Reads a number as Go's text/template does: an int (bigint), float64 (number) or complex128. */
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

/** Whether Go's parser accepts the constant but its executor refuses it. */
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

/** @returns undefined for invalid syntax or overflow */
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
  const error = `bad number syntax: "${text}"`
  if (text.length > MAX_LENGTH) return { error }
  let split = 0
  for (const { index } of text.slice(0, -1).matchAll(/(?<=[^eEpP])[+-]/g)) split = index
  // Go reads a purely imaginary number as a float only: 017i is 17i, and 0x1i is invalid.
  const [re, im] =
    split === 0
      ? [0, parseFloatText(text.slice(0, -1))]
      : [parseReal(text.slice(0, split)), parseReal(text.slice(split, -1))]
  return re === undefined || im === undefined ? { error } : { value: new Complex(re, im) }
}

function parseReal(text: string): number | undefined {
  const integer = parseInteger(text)
  return integer === undefined ? parseFloatText(text) : Number(integer)
}
