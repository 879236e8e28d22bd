import type { Complex } from '../node.ts'
import { wellFormed } from './bytes.ts'
import { isPrintable, quoteChar } from './strconv.ts'

/** Flags, width and precision of one verb. */
export class Flags {
  minus = false
  plus = false
  sharp = false
  space = false
  zero = false
  /** `%+v` and `%#v`. */
  plusV = false
  sharpV = false
  width: number | undefined
  precision: number | undefined
}

export function truncate(text: string, flags: Flags): string {
  if (flags.precision === undefined || text.length <= flags.precision) return text
  return Array.from(text.slice(0, flags.precision * 2))
    .slice(0, flags.precision)
    .join('')
}

function signOf(negative: boolean, flags: Flags): string {
  if (negative) return '-'
  if (flags.plus) return '+'
  return flags.space ? ' ' : ''
}

/** Inserts zeros between sign and digits; Inf, which always has a sign, and NaN get none. */
export function padNumber(text: string, flags: Flags): string {
  const digits = text.replace(/^[+-]/, '')
  const sign = text === '+Inf' ? '+' : signOf(text[0] === '-', flags)
  if (flags.zero && !flags.minus && !/^[IN]/.test(digits)) {
    return sign + digits.padStart((flags.width ?? 0) - sign.length, '0')
  }
  return pad(sign + digits, { ...flags, zero: false })
}

/** Pads to the width in code points. */
export function pad(text: string, flags: Flags): string {
  const { width } = flags
  if (width === undefined || text.length >= width * 2) return text
  const missing = width - Array.from(wellFormed(text)).length
  if (missing <= 0) return text
  if (flags.minus) return text + ' '.repeat(missing)
  return (flags.zero ? '0' : ' ').repeat(missing) + text
}

const BASES: Partial<Record<string, number>> = { v: 10, d: 10, b: 2, o: 8, O: 8, x: 16, X: 16 }

/** Undefined for an unsuitable verb. */
export function formatInteger(value: bigint, verb: string, flags: Flags): string | undefined {
  const base = BASES[verb]
  if (base !== undefined) return integer(value, base, verb, flags)
  if (verb === 'c') return pad(codePoint(value), flags)
  if (verb === 'q') return pad(quoteChar(codePoint(value), flags.plus), flags)
  return verb === 'U' ? formatUnicode(value, flags) : undefined
}

function codePoint(value: bigint): string {
  const valid = value >= 0n && value <= 0x10ffffn && (value < 0xd800n || value > 0xdfffn)
  return String.fromCodePoint(valid ? Number(value) : 0xfffd)
}

function formatUnicode(value: bigint, flags: Flags): string {
  const code = BigInt.asUintN(64, value)
  const digits = code
    .toString(16)
    .toUpperCase()
    .padStart(Math.max(4, flags.precision ?? 4), '0')
  const shown =
    flags.sharp && code <= 0x10ffffn && isPrintable(codePoint(code)) ? ` '${codePoint(code)}'` : ''
  return pad(`U+${digits}${shown}`, { ...flags, zero: false })
}

function integer(value: bigint, base: number, verb: string, flags: Flags): string {
  if (flags.precision === 0 && value === 0n) return ' '.repeat(flags.width ?? 0)
  const sign = signOf(value < 0n, flags)
  let digits = value.toString(base).replace('-', '')
  let least = flags.precision ?? 0
  if (flags.precision === undefined && flags.zero && !flags.minus && flags.width !== undefined) {
    least = flags.width - sign.length
  }
  digits = digits.padStart(least, '0')
  if (flags.sharp) {
    if (base === 2) digits = `0b${digits}`
    else if (base === 8 && digits[0] !== '0') digits = `0${digits}`
    else if (base === 16) digits = `0x${digits}`
  }
  if (verb === 'X') digits = digits.toUpperCase()
  if (verb === 'O') digits = `0o${digits}`
  return pad(sign + digits, { ...flags, zero: false })
}

/** Undefined for an unsuitable verb. */
export function formatDouble(value: number, verb: string, flags: Flags): string | undefined {
  const { precision } = flags
  let text: string
  if ('vgG'.includes(verb)) text = formatFloat(value, 'g', precision)
  else if ('eEfF'.includes(verb)) text = formatFloat(value, verb.toLowerCase(), precision ?? 6)
  else if ('xXb'.includes(verb)) text = binaryFloat(value, verb, precision)
  else return undefined
  if (flags.sharp && verb !== 'b' && Number.isFinite(value)) text = sharpened(text, verb, precision)
  if ('GEX'.includes(verb) && Number.isFinite(value)) text = text.toUpperCase()
  return padNumber(text, flags)
}

/** The flag `#`: always a decimal point, and for `g`, `v` and `x` zeros up to the precision. */
function sharpened(text: string, verb: string, precision: number | undefined): string {
  const tailAt = text.search('xX'.includes(verb) ? /p/ : /[ep]/)
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
function binaryFloat(value: number, verb: string, precision: number | undefined): string {
  if (!Number.isFinite(value)) return formatFloat(value, 'g')
  const sign = isNegative(value) ? '-' : ''
  const magnitude = Math.abs(value)
  let exponent = magnitude === 0 ? 0 : Math.floor(Math.log2(magnitude))
  // The logarithm is rounded; everything after is exact, as only powers of two are involved.
  if (magnitude >= 2 * 2 ** exponent) exponent++
  else if (magnitude < 2 ** exponent && magnitude > 0) exponent--
  if (verb === 'b') {
    const power = magnitude === 0 ? -1074 : Math.max(exponent - 52, -1074)
    return `${sign}${BigInt(magnitude / 2 ** power)}p${power < 0 ? '' : '+'}${power}`
  }
  let mantissa = magnitude / 2 ** exponent
  if (precision !== undefined && precision < 13) {
    const scaled = mantissa * 16 ** precision
    mantissa = roundedToEven(scaled) / 16 ** precision
    if (mantissa === 2) {
      mantissa = 1
      exponent++
    }
  }
  const [lead = '0', part = ''] = mantissa.toString(16).split('.')
  const digits = precision === undefined ? part : part.padEnd(precision, '0')
  const power = `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
  return `${sign}0x${lead}${digits === '' ? '' : `.${digits}`}p${power}`
}

function roundedToEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}

export function formatComplex(value: Complex, verb: string, flags: Flags): string | undefined {
  const im = formatDouble(value.im, verb, { ...flags, plus: true, space: false })
  return im && `(${formatDouble(value.re, verb, flags)}${im}i)`
}

/**
 * Formats a double as Go's strconv.FormatFloat does.
 * @param verb `e`, `f` or `g`
 * @param precision digits after the point (`e`, `f`) or significant digits (`g`); absent: as few as identify the value
 */
export function formatFloat(value: number, verb: string, precision?: number): string {
  if (Number.isNaN(value)) return 'NaN'
  const sign = isNegative(value) ? '-' : ''
  if (!Number.isFinite(value)) return sign === '' ? '+Inf' : '-Inf'
  return sign + formatMagnitude(Math.abs(value), verb, precision)
}

function isNegative(value: number): boolean {
  return value < 0 || Object.is(value, -0)
}

function formatMagnitude(value: number, verb: string, precision: number | undefined): string {
  if (precision === undefined) {
    const number = shortest(value)
    return number.exponent < -4 || number.exponent >= 6 ? withExponent(number, 0) : withPoint(number, 0)
  }
  // Equal unless the value is a tie, which Go rounds to even.
  if (verb === 'f' && value < 1e21 && precision <= 100 && !Number.isInteger(value * 2 ** 30))
    return value.toFixed(precision)
  const all = exact(value)
  if (verb === 'e') return withExponent(rounded(all, precision + 1), precision)
  if (verb === 'f') return withPoint(rounded(all, all.exponent + 1 + precision), precision)
  const wanted = Math.max(1, precision)
  const number = rounded(all, wanted)
  const count = number.digits.length
  // Go uses the number of available digits if smaller and the value is an integer.
  const limit = wanted > count && count > number.exponent ? count : wanted
  return number.exponent < -4 || number.exponent >= limit ? withExponent(number, 0) : withPoint(number, 0)
}

/** d.ddd… × 10^exponent, without trailing zeros. */
interface Decimal {
  digits: string
  exponent: number
}

const ZERO: Decimal = { digits: '', exponent: 0 }

function shortest(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e')
  return { digits: mantissa.replace('.', ''), exponent: Number(exponent) }
}

/** All decimal digits of a double. */
function exact(value: number): Decimal {
  if (value === 0) return ZERO
  let shift = 0
  let scaled = value
  while (!Number.isInteger(scaled)) {
    scaled *= 2
    shift++
  }
  // value = n / 2^shift = n * 5^shift / 10^shift
  const digits = (BigInt(scaled) * 5n ** BigInt(shift)).toString()
  return { digits: withoutZeros(digits), exponent: digits.length - 1 - shift }
}

/** Rounds half to even. */
function rounded({ digits, exponent }: Decimal, count: number): Decimal {
  const kept = digits.slice(0, Math.max(0, count))
  const rest = count < 0 ? '' : digits.slice(count)
  const isOdd = Number(kept.at(-1) ?? 0) % 2 === 1
  if (rest > '5' || (rest === '5' && isOdd)) {
    const up = (BigInt(kept) + 1n).toString()
    return { digits: withoutZeros(up), exponent: exponent + up.length - kept.length }
  }
  return kept === '' ? ZERO : { digits: withoutZeros(kept), exponent }
}

/** The exponent has a sign and at least two digits. */
function withExponent({ digits, exponent }: Decimal, places: number): string {
  const part = digits.slice(1).padEnd(places, '0')
  const power = String(Math.abs(exponent)).padStart(2, '0')
  return `${digits[0] ?? '0'}${part === '' ? '' : `.${part}`}e${exponent < 0 ? '-' : '+'}${power}`
}

function withPoint({ digits, exponent }: Decimal, places: number): string {
  const all = '0'.repeat(Math.max(0, -exponent)) + digits
  const whole = Math.max(0, exponent) + 1
  const part = all.slice(whole).padEnd(places, '0')
  return `${all.slice(0, whole).padEnd(whole, '0')}${part === '' ? '' : `.${part}`}`
}

function withoutZeros(digits: string): string {
  return digits.replace(/(?<!0)0+$/, '')
}
