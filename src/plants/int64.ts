import { ExactNumber, type Json } from '../json/index.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

/**
 * Parses an int64 in the decimal form of a JSON integer: no plus, leading zeros, fraction or exponent.
 * `-0` is 0. Undefined for other text.
 */
export function int64(text: string): bigint | undefined {
  // Every int64 has at most 20 characters; BigInt would be slow on longer text.
  if (text.length > 20 || !/^-?(?:0|[1-9][0-9]*)$/.test(text)) return undefined
  return inRange(BigInt(text))
}

/**
 * Converts a JSON value to an int64 by its value, as JSON Schema defines integers: `1.0` and `1e2` are integers.
 * Otherwise returns the rule that it violates, to follow the field's name.
 */
export function int64OfJson(value: Json): bigint | 'must be an integer' | 'must be within int64' {
  if (typeof value === 'bigint') return inRange(value) ?? 'must be within int64'
  // A `number` has at most 15 digits in the source, so its shortest text has the original value.
  const text =
    typeof value === 'number' ? String(value) : value instanceof ExactNumber ? value.text : undefined
  const integer = text === undefined ? undefined : integerOf(text)
  if (integer === undefined) return 'must be an integer'
  return integer === Infinity
    ? 'must be within int64'
    : (inRange(integer as bigint) ?? 'must be within int64')
}

/** Parses a JSON number. Infinity for an integer of more than 19 digits, undefined for a number that is no integer. */
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
