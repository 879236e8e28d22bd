import { execFault } from '../errors.ts'
import { define, type FunctionEntry } from '../function.ts'
import { int64, toFloat, toInt, toText } from './convert.ts'
import { decimal } from './decimal.ts'

const sum = (values: readonly bigint[]) => int64(values.reduce((all, value) => all + value, 0n))

export const numbers: readonly FunctionEntry[] = [
  define('add numbers:any...', 'The sum, in whole numbers', (args) => sum(args.map(toInt))),
  define('add1 number:any', 'One more', ([a]) => int64(toInt(a) + 1n)),
  define('sub a:any b:any', 'a minus b', ([a, b]) => int64(toInt(a) - toInt(b))),
  define('mul a:any numbers:any...', 'The product', (args) =>
    args.map(toInt).reduce((all, value) => int64(all * value)),
  ),
  define('div a:any b:any', 'a divided by b, without the rest', ([a, b]) =>
    int64(toInt(a) / nonZero(toInt(b))),
  ),
  define('mod a:any b:any', 'The rest of a divided by b', ([a, b]) => toInt(a) % nonZero(toInt(b))),
  ...['max', 'biggest'].map((name) =>
    define(`${name} a:any numbers:any...`, 'The greatest', (args) => greatest(args.map(toInt), 1)),
  ),
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
    round(toFloat(a), Number(digits), typeof from === 'number' ? from : 0.5),
  ),
  ...['int', 'int64'].map((name) => define(`${name} value:any`, 'As a whole number', ([a]) => toInt(a))),
  define('float64 value:any', 'As a number with decimals', ([a]) => toFloat(a)),
  define('atoi text:string', 'The whole number that a text holds, else 0', ([text]) => {
    const value = /^[+-]?\d{1,19}$/.test(text as string) ? BigInt((text as string).replace(/^\+/, '')) : 0n
    return value === int64(value) ? value : 0n
  }),
  define('toDecimal octal:any', 'The number that octal digits stand for', ([value], host) => {
    const text = toText(value, host)
    return /^[+-]?[0-7]{1,21}$/.test(text) ? BigInt(Number.parseInt(text, 8)) : 0n
  }),
]

/** The greatest, or with sign -1 the least. */
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
