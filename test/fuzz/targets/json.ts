import { parse, stringify } from '../../../src/json/index.ts'
import { depthOf, numbersOf, readWritten } from '../../support/json-reader.ts'
import { holds, type Target } from '../target.ts'

/** The documented limits of what is parsed. */
const MAX_DEPTH = 128
const MAX_NUMBER = 400

export const json: Target = {
  name: 'json',
  about: 'src/json against JSON.parse: the same values or both refuse; numbers stay exact',
  tokens: [
    ...['null', 'true', '{}', '[]', '""', '{"a":', ',"b":', '[', ']', '}', '"__proto__":', '"constructor":'],
    ...'0 -0 1e999 1E-400 0.1 9007199254740993 -9223372036854775808 1.0 1e21 5e-324'.split(' '),
    ...'1234567890123456 0.30000000000000004 1.7976931348623157e308 \\u0000 \\ud800 \\" {"toJSON":'.split(
      ' ',
    ),
  ],
  ciRuns: 30_000,
  async start() {
    return { run }
  },
}

function run(input: string): void {
  const expected = attempt(() => JSON.parse(input))
  const found = attempt(() => parse(input))
  holds(!found.error || found.error instanceof SyntaxError, 'parse throws something else than a SyntaxError')
  if (expected.error) {
    holds(found.error, 'parse takes what is no JSON')
    return
  }
  const written = readWritten(input)
  const numbers = numbersOf(written)
  const tooDeep = depthOf(written) > MAX_DEPTH
  const tooLong = numbers.some((each) => each.length > MAX_NUMBER + 20)
  holds(!tooDeep || found.error, 'parse takes nesting deeper than 128')
  holds(!tooLong || found.error, 'parse takes numbers longer than 400 digits')
  if (tooDeep || tooLong) return
  // Signs, points and exponents may count or not.
  if (numbers.some((each) => each.length > MAX_NUMBER - 20)) return
  holds(!found.error, 'parse refuses JSON within the limits')
  const text = stringify(found.value)
  holds(same(JSON.parse(text), expected.value), 'stringify after parse gives another value')
  holds(stringify(parse(text)) === text, 'stringify after parse is not stable')
  // Of repeated keys only the last is left: numbers are compared where there are no keys.
  if (input.includes(':')) return
  const exact = numbersOf(readWritten(text))
  holds(numbers.map(decimal).join() === exact.map(decimal).join(), 'a number has lost digits')
}

function attempt<T>(make: () => T): { value: T; error?: undefined } | { value?: undefined; error: unknown } {
  try {
    return { value: make() }
  } catch (error) {
    return { error }
  }
}

/** Sign, digits and exponent of a number, without zeros at the ends. */
function decimal(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const short = digits.replace(/0+$/, '')
  if (short === '') return '0'
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - short.length)
  return `${sign}${short}e${power}`
}

/** Whether two values of `JSON.parse` are the same; `-0` is 0, as JSON.stringify writes it. */
function same(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other
  const keys = Object.keys(one)
  if (Array.isArray(one) !== Array.isArray(other) || keys.length !== Object.keys(other).length) return false
  return keys.every(
    (key) => Object.hasOwn(other, key) && same(Reflect.get(one, key), Reflect.get(other, key)),
  )
}
