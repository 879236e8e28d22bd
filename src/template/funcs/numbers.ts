import { execFault, Fault } from '../errors.ts'
import { int64, toFloat, toInt, toText } from './convert.ts'
import { define, type FunctionEntry } from './define.ts'

const sum = (values: readonly bigint[]) => int64(values.reduce((all, value) => all + value, 0n))

export const numbers: readonly FunctionEntry[] = [
  define('add numbers:any...', 'The sum, in integers', (args) => sum(args.map(toInt))),
  define('add1 number:any', 'One more', ([a]) => int64(toInt(a) + 1n)),
  define('sub a:any b:any', 'a minus b', ([a, b]) => int64(toInt(a) - toInt(b))),
  define('mul a:any numbers:any...', 'The product', (args) =>
    args.map(toInt).reduce((all, value) => int64(all * value)),
  ),
  define('div a:any b:any', 'a divided by b, without the remainder', ([a, b]) =>
    int64(toInt(a) / nonZero(toInt(b))),
  ),
  define('mod a:any b:any', 'The remainder of a divided by b', ([a, b]) => toInt(a) % nonZero(toInt(b))),
  define('max|biggest a:any numbers:any...', 'The greatest', (args) => greatest(args.map(toInt), 1)),
  define('min a:any numbers:any...', 'The least', (args) => greatest(args.map(toInt), -1)),
  define('addf numbers:any...', 'The sum, with decimals', (args) =>
    decimal([0, ...args.map(toFloat)], 'plus'),
  ),
  define('add1f number:any', 'One more, with decimals', ([a]) => decimal([toFloat(a), 1], 'plus')),
  define('subf a:any numbers:any...', 'a minus the others, with decimals', (args) =>
    decimal(args.map(toFloat), 'minus'),
  ),
  define('mulf a:any numbers:any...', 'The product, with decimals', (args) =>
    decimal(args.map(toFloat), 'times'),
  ),
  define('divf a:any numbers:any...', 'a divided by the others, with decimals', (args) =>
    decimal(args.map(toFloat), 'by'),
  ),
  define('maxf a:any numbers:any...', 'The greatest, with decimals', (args) =>
    Math.max(...args.map(toFloat)),
  ),
  define('minf a:any numbers:any...', 'The least, with decimals', (args) => Math.min(...args.map(toFloat))),
  define('floor number:any', 'Rounded down', ([a]) => Math.floor(toFloat(a))),
  define('ceil number:any', 'Rounded up', ([a]) => Math.ceil(toFloat(a))),
  define('round number:any digits:int from:float...', 'Rounded to this many decimals', ([a, digits, from]) =>
    round(toFloat(a), Number(digits), from ?? 0.5),
  ),
  define('int|int64 value:any', 'As an integer', ([a]) => toInt(a)),
  define('float64 value:any', 'As a number with decimals', ([a]) => toFloat(a)),
  define('atoi text', 'The integer in a string, else 0', ([text]) => {
    const value = /^[+-]?\d{1,19}$/.test(text) ? BigInt(text.replace(/^\+/, '')) : 0n
    return value === int64(value) ? value : 0n
  }),
  define('toDecimal octal:any', 'The number that octal digits stand for', ([value], host) => {
    const [, sign, digits] = /^([+-]?)([0-7]{1,21})$/.exec(toText(value, host)) ?? []
    const number = BigInt(`0o${digits ?? 0}`)
    return sign === '-' ? -number : number
  }),
].flat()

/** The greatest, or with sign -1 the smallest. */
function greatest(values: readonly bigint[], sign: number): bigint {
  let best = values[0]!
  for (const value of values) if (value !== best && value > best === sign > 0) best = value
  return best
}

function nonZero(value: bigint): bigint {
  if (value === 0n) throw execFault('integer divide by zero')
  return value
}

function round(value: number, digits: number, from: number): number {
  const scale = 10 ** digits
  const scaled = value * scale
  const rest = scaled - Math.trunc(scaled)
  return (rest >= from ? Math.ceil(scaled) : Math.floor(scaled)) / scale
}

/** Exact: digits / 10 ** places. */
interface Decimal {
  digits: bigint
  places: number
}

/** Decimal places of quotients. */
const QUOTIENT_PLACES = 16

/** Longer numbers result only from many factors or divisors, and are slow. */
const MAX_DIGITS = 1500
const TOO_LONG = 10n ** BigInt(MAX_DIGITS)

type Operation = 'plus' | 'minus' | 'times' | 'by'

/** Folds the doubles with decimal arithmetic, as Sprig does: 0.1 + 0.2 is 0.3. @throws Fault on division by 0 */
function decimal(values: readonly number[], operation: Operation): number {
  if (!values.every(Number.isFinite)) throw execFault('not a finite number')
  const { digits, places } = values.map(toDecimal).reduce((a, b) => {
    const made = calculate(a, b, operation)
    if (made.places > MAX_DIGITS || made.digits > TOO_LONG || made.digits < -TOO_LONG)
      throw new Fault('limit', `a number has more than ${MAX_DIGITS} digits`)
    return made
  })
  return Number(`${digits}e${-places}`)
}

function toDecimal(value: number): Decimal {
  const [mantissa, exponent = '0'] = String(value).split('e')
  const [whole, part = ''] = mantissa!.split('.')
  const [digits, places] = [BigInt(whole + part), part.length - Number(exponent)]
  return places < 0 ? { digits: digits * 10n ** BigInt(-places), places: 0 } : { digits, places }
}

function calculate(a: Decimal, b: Decimal, operation: Operation): Decimal {
  if (operation === 'times') return { digits: a.digits * b.digits, places: a.places + b.places }
  if (operation === 'by') return quotient(a, b)
  const places = Math.max(a.places, b.places)
  const [x, y] = [scaled(a, places), scaled(b, places)]
  return { digits: operation === 'plus' ? x + y : x - y, places }
}

function scaled({ digits, places }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(to - places)
}

/** Rounded half away from zero. */
function quotient(a: Decimal, b: Decimal): Decimal {
  if (b.digits === 0n) throw execFault('decimal division by 0')
  const dividend = scaled(a, a.places + b.places + QUOTIENT_PLACES)
  const divisor = scaled(b, a.places + b.places)
  const size = (value: bigint) => (value < 0n ? -value : value)
  const rounded = (2n * size(dividend) + size(divisor)) / (2n * size(divisor))
  return { digits: dividend < 0n === divisor < 0n ? rounded : -rounded, places: QUOTIENT_PLACES }
}
