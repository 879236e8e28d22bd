import { execFault, Fault } from '../errors.ts'

/** Exact: digits / 10 ** places. */
interface Decimal {
  digits: bigint
  places: number
}

/** Quotients are rounded to this many places. */
const QUOTIENT_PLACES = 16

/** Longer ones come only of many factors or divisors, and take long. */
const MAX_DIGITS = 1500
const TOO_LONG = 10n ** BigInt(MAX_DIGITS)

/** The doubles in turn, reckoned in decimals as Sprig does: 0.1 + 0.2 is 0.3. @throws Fault on division by 0 */
export function decimal(values: readonly number[], operation: 'plus' | 'minus' | 'times' | 'by'): number {
  if (!values.every(Number.isFinite)) throw execFault('not a finite number')
  const { digits, places } = values.map(toDecimal).reduce((a, b) => calculate(a, b, operation))
  return Number(`${digits}e${-places}`)
}

function toDecimal(value: number): Decimal {
  const [mantissa, exponent = '0'] = String(value).split('e')
  const [whole, part = ''] = mantissa!.split('.')
  return withPlaces(BigInt(whole + part), part.length - Number(exponent))
}

/** No fewer than no places. */
function withPlaces(digits: bigint, places: number): Decimal {
  return places < 0 ? { digits: digits * 10n ** BigInt(-places), places: 0 } : { digits, places }
}

function calculate(a: Decimal, b: Decimal, operation: 'plus' | 'minus' | 'times' | 'by'): Decimal {
  if (operation === 'times') return product(a, b)
  if (operation === 'by') return quotient(a, b)
  const places = Math.max(a.places, b.places)
  const x = scaled(a, places)
  const y = scaled(b, places)
  return { digits: operation === 'plus' ? x + y : x - y, places }
}

function product(a: Decimal, b: Decimal): Decimal {
  const digits = a.digits * b.digits
  return limited({ digits, places: a.places + b.places })
}

function limited(made: Decimal): Decimal {
  const { digits, places } = made
  if (places > MAX_DIGITS || digits > TOO_LONG || digits < -TOO_LONG)
    throw new Fault('limit', `a number has more than ${MAX_DIGITS} digits`)
  return made
}

function scaled({ digits, places }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(to - places)
}

/** Rounded half away from zero. */
function quotient(a: Decimal, b: Decimal): Decimal {
  if (b.digits === 0n) throw execFault('decimal division by 0')
  const dividend = a.digits * 10n ** BigInt(b.places + QUOTIENT_PLACES)
  const divisor = b.digits * 10n ** BigInt(a.places)
  const size = (value: bigint) => (value < 0n ? -value : value)
  const rounded = (2n * size(dividend) + size(divisor)) / (2n * size(divisor))
  return limited({ digits: dividend < 0n === divisor < 0n ? rounded : -rounded, places: QUOTIENT_PLACES })
}
