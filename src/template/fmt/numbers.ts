import type { Complex } from '../node.ts'
import { wellFormed } from './bytes.ts'
import { formatFloat, isPrintable, quoteChar } from './strconv.ts'

/** Flags, width and precision of one verb. */
export interface Flags {
  minus: boolean
  plus: boolean
  sharp: boolean
  space: boolean
  zero: boolean
  /** `%+v` and `%#v`. */
  plusV: boolean
  sharpV: boolean
  width: number | undefined
  precision: number | undefined
}

export function newFlags(): Flags {
  return {
    minus: false,
    plus: false,
    sharp: false,
    space: false,
    zero: false,
    plusV: false,
    sharpV: false,
    width: undefined,
    precision: undefined,
  }
}

export function truncate(text: string, flags: Flags): string {
  if (flags.precision === undefined || text.length <= flags.precision) return text
  return Array.from(text.slice(0, flags.precision * 2))
    .slice(0, flags.precision)
    .join('')
}

/** Zeros go between the sign and the digits; Inf and NaN take none. */
export function padNumber(digits: string, negative: boolean, flags: Flags, plusInf = false): string {
  const named = /^[IN]/.test(digits)
  const shownPlus = flags.plus || (plusInf && digits === 'Inf')
  const sign = negative
    ? '-'
    : shownPlus && digits !== 'NaN'
      ? '+'
      : flags.plus
        ? '+'
        : flags.space
          ? ' '
          : ''
  if (flags.zero && !flags.minus && !named) {
    return sign + digits.padStart((flags.width ?? 0) - sign.length, '0')
  }
  return pad(sign + digits, { ...flags, zero: false })
}

/** Pads to the width, counted in code points. */
export function pad(text: string, flags: Flags): string {
  const { width } = flags
  if (width === undefined || text.length >= width * 2) return text
  const missing = width - Array.from(wellFormed(text)).length
  if (missing <= 0) return text
  if (flags.minus) return text + ' '.repeat(missing)
  return (flags.zero ? '0' : ' ').repeat(missing) + text
}

export function formatInteger(value: bigint, verb: string, flags: Flags): string | undefined {
  switch (verb) {
    case 'v':
    case 'd':
      return integer(value, 10, verb, flags)
    case 'b':
      return integer(value, 2, verb, flags)
    case 'o':
    case 'O':
      return integer(value, 8, verb, flags)
    case 'x':
    case 'X':
      return integer(value, 16, verb, flags)
    case 'c':
      return pad(codePoint(value), flags)
    case 'q':
      return pad(quoteChar(codePoint(value), flags.plus), flags)
    case 'U':
      return formatUnicode(value, flags)
    default:
      return undefined
  }
}

export function codePoint(value: bigint): string {
  const valid = value >= 0n && value <= 0x10ffffn && (value < 0xd800n || value > 0xdfffn)
  return String.fromCodePoint(valid ? Number(value) : 0xfffd)
}

export function formatUnicode(value: bigint, flags: Flags): string {
  const code = BigInt.asUintN(64, value)
  const digits = code
    .toString(16)
    .toUpperCase()
    .padStart(Math.max(4, flags.precision ?? 4), '0')
  const shown =
    flags.sharp && code <= 0x10ffffn && isPrintable(codePoint(code)) ? ` '${codePoint(code)}'` : ''
  return pad(`U+${digits}${shown}`, { ...flags, zero: false })
}

export function integer(value: bigint, base: number, verb: string, flags: Flags): string {
  const negative = value < 0n
  const magnitude = negative ? -value : value
  if (flags.precision === 0 && magnitude === 0n) return ' '.repeat(flags.width ?? 0)
  let digits = magnitude.toString(base)
  if (verb === 'X') digits = digits.toUpperCase()
  const signed = negative || flags.plus || flags.space
  let least = flags.precision ?? 0
  if (flags.precision === undefined && flags.zero && !flags.minus && flags.width !== undefined) {
    least = flags.width - (signed ? 1 : 0)
  }
  digits = digits.padStart(least, '0')
  if (flags.sharp) {
    if (base === 2) digits = `0b${digits}`
    else if (base === 8 && digits[0] !== '0') digits = `0${digits}`
    else if (base === 16) digits = (verb === 'X' ? '0X' : '0x') + digits
  }
  if (verb === 'O') digits = `0o${digits}`
  const sign = negative ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  return pad(sign + digits, { ...flags, zero: false })
}

export function formatDouble(value: number, verb: string, flags: Flags): string | undefined {
  let text: string
  switch (verb) {
    case 'v':
    case 'g':
    case 'G':
      text = formatFloat(value, verb === 'G' ? 'G' : 'g', flags.precision ?? -1)
      break
    case 'e':
    case 'E':
    case 'f':
    case 'F':
      text = formatFloat(value, verb === 'F' ? 'f' : verb, flags.precision ?? 6)
      break
    case 'x':
    case 'X':
    case 'b':
      text = binaryFloat(value, verb, flags.precision)
      break
    default:
      return undefined
  }
  if (flags.sharp && verb !== 'b' && Number.isFinite(value)) text = sharpened(text, verb, flags.precision)
  const negative = text[0] === '-'
  return padNumber(text.replace(/^[+-]/, ''), negative, { ...flags, plus: flags.plus }, text[0] === '+')
}

/** The flag `#`: a decimal point always, and for `g`, `v` and `x` zeros up to the precision. */
function sharpened(text: string, verb: string, precision: number | undefined): string {
  const tailAt = text.search('xX'.includes(verb) ? /[pP]/ : /[eEpP]/)
  const number = tailAt < 0 ? text : text.slice(0, tailAt)
  let digits = 'gGvx'.includes(verb) ? (precision ?? 6) : 0
  digits -= number.replace(/^-/, '').replaceAll('.', '').replace(/^0+/, '').length
  let shown = number
  if (!number.includes('.')) {
    if (/^-?0$/.test(number)) digits--
    shown += '.'
  }
  return shown + '0'.repeat(Math.max(0, digits)) + text.slice(number.length)
}

/** Hexadecimal (`0x1.8p+01`) and binary (`4503599627370496p-52`) exponents. */
export function binaryFloat(value: number, verb: string, precision: number | undefined): string {
  if (!Number.isFinite(value)) return formatFloat(value, 'g', -1)
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const biased = Number((bits >> 52n) & 0x7ffn)
  let fraction = bits & ((1n << 52n) - 1n)
  const sign = bits >> 63n ? '-' : ''
  if (verb === 'b') {
    const mantissa = biased === 0 ? fraction : fraction | (1n << 52n)
    const exponent = (biased === 0 ? 1 : biased) - 1075
    return `${sign}${mantissa}p${exponent < 0 ? '' : '+'}${exponent}`
  }
  let exponent = biased - 1023
  let lead = 1n
  if (biased === 0) {
    if (fraction === 0n) {
      lead = 0n
      exponent = 0
    } else {
      exponent = -1022
      while ((fraction & (1n << 52n)) === 0n) {
        fraction <<= 1n
        exponent--
      }
      fraction &= (1n << 52n) - 1n
    }
  }
  let digits = fraction
    .toString(16)
    .padStart(13, '0')
    .replace(/(?<!0)0+$/, '')
  if (precision !== undefined) {
    if (precision < 13) {
      const drop = BigInt(4 * (13 - precision))
      let all = (lead << 52n) | fraction
      const rest = all & ((1n << drop) - 1n)
      all >>= drop
      const half = 1n << (drop - 1n)
      if (rest > half || (rest === half && all & 1n)) all++
      all <<= drop
      if (all >> 53n) {
        all >>= 1n
        exponent++
      }
      lead = all >> 52n
      fraction = all & ((1n << 52n) - 1n)
    }
    digits = fraction.toString(16).padStart(13, '0').slice(0, precision).padEnd(precision, '0')
  }
  const power = `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
  const text = `${sign}0x${lead}${digits === '' ? '' : `.${digits}`}p${power}`
  return verb === 'X' ? text.toUpperCase() : text
}

export function formatComplex(value: Complex, verb: string, flags: Flags): string | undefined {
  if (!'vbgGxXfFeE'.includes(verb)) return undefined
  const im = formatDouble(value.im, verb, { ...flags, plus: true, space: false })
  return `(${formatDouble(value.re, verb, flags)}${im}i)`
}
