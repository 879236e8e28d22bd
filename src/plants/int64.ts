import { ExactNumber, type Json } from '../json/index.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

/**
 * An int64 in decimal as JSON writes an integer: no plus, no leading zeros, no fraction, no exponent.
 * `-0` is 0. Undefined for anything else.
 */
export function int64(text: string): bigint | undefined {
  // 20 characters hold every int64, and keep BigInt off longer text.
  if (text.length > 20 || !/^-?(?:0|[1-9][0-9]*)$/.test(text)) return undefined
  return inRange(BigInt(text))
}

/**
 * The int64 that a JSON value is, by value and not by spelling, as JSON Schema defines an integer:
 * `1.0` and `1e2` are integers. Else the reason, to be read after the field's name.
 */
export function int64OfJson(value: Json): bigint | 'must be an integer' | 'must be within int64' {
  if (typeof value === 'bigint') return inRange(value) ?? 'must be within int64'
  // A number has at most 15 digits in the source or is exact, so its shortest text is the original.
  const text =
    typeof value === 'number' ? String(value) : value instanceof ExactNumber ? value.text : undefined
  const integer = text === undefined ? undefined : integerOf(text)
  if (integer === undefined) return 'must be an integer'
  return integer === Infinity
    ? 'must be within int64'
    : (inRange(integer as bigint) ?? 'must be within int64')
}

/** Infinity for an integer that is too long to be worth making. */
function integerOf(text: string): bigint | typeof Infinity | undefined {
  const [, sign, whole, fraction = '', exponent = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(text) ?? []
  if (whole === undefined) return undefined
  const digits = whole + fraction
  let first = 0
  while (digits[first] === '0') first++
  if (first === digits.length) return 0n
  let last = digits.length
  while (digits[last - 1] === '0') last--
  const zeros = Number(exponent) - fraction.length + (digits.length - last)
  if (zeros < 0) return undefined
  if (last - first + zeros > 19) return Infinity
  return BigInt(`${sign}${digits.slice(first, last)}${'0'.repeat(zeros)}`)
}

function inRange(value: bigint): bigint | undefined {
  return value >= MIN && value <= MAX ? value : undefined
}
