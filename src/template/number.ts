import { Complex } from './nodes.ts'

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
