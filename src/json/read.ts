import { ExactNumber, type Json, type JsonObject } from './index.ts'
import { closingQuote, numberEnd } from './scan.ts'

/**
 * Reads a text with exact numbers: what a double cannot hold becomes a `bigint` or an `ExactNumber`.
 * @param text within the limits of `scan`, which bound the recursion
 * @throws NotJson
 */
export function readExact(text: string): Json {
  let at = 0

  /** The code of the next character that is not white space. */
  function next(): number {
    for (;;) {
      const c = text.charCodeAt(at)
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return c
      at++
    }
  }
  function expect(code: number): void {
    if (next() !== code) throw new NotJson()
    at++
  }
  function string(): string {
    const end = closingQuote(text, at + 1)
    const source = text.slice(at + 1, end)
    at = end + 1
    if (at > text.length || CONTROL.test(source)) throw new NotJson()
    return source.includes('\\') ? JSON.parse(`"${source}"`) : source
  }
  function array(): Json[] {
    const items: Json[] = []
    at++
    if (next() !== 0x5d) {
      items.push(value())
      while (next() === 0x2c) {
        at++
        items.push(value())
      }
    }
    expect(0x5d)
    return items
  }
  function object(): JsonObject {
    const members: JsonObject = {}
    at++
    if (next() !== 0x7d) {
      member(members)
      while (next() === 0x2c) {
        at++
        member(members)
      }
    }
    expect(0x7d)
    return members
  }
  function member(members: JsonObject): void {
    if (next() !== 0x22) throw new NotJson()
    const key = string()
    expect(0x3a)
    const given = value()
    // An assignment to this one name would set the prototype.
    if (key === '__proto__') Object.defineProperty(members, key, { ...OWN, value: given })
    else members[key] = given
  }
  function word<Value>(spelling: string, meaning: Value): Value {
    if (!text.startsWith(spelling, at)) throw new NotJson()
    at += spelling.length
    return meaning
  }
  function number(): Json {
    const end = numberEnd(text, at + 1)
    const source = text.slice(at, end)
    if (!NUMBER.test(source)) throw new NotJson()
    at = end
    return exact(source)
  }
  function value(): Json {
    switch (next()) {
      case 0x22:
        return string()
      case 0x7b:
        return object()
      case 0x5b:
        return array()
      case 0x74:
        return word('true', true)
      case 0x66:
        return word('false', false)
      case 0x6e:
        return word('null', null)
      default:
        return number()
    }
  }

  const whole = value()
  if (!Number.isNaN(next())) throw new NotJson()
  return whole
}

/** `JSON.parse` says what is wrong, and where. */
export class NotJson extends SyntaxError {}

const OWN = { enumerable: true, configurable: true, writable: true }
/** Not allowed in strings (RFC 8259, 7). */
const CONTROL = /[\0-\x1f]/
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function exact(source: string): number | bigint | ExactNumber {
  const value = Number(source)
  // Most numbers are short and plain.
  if (source.length < 5) return value
  const digits = significantDigits(source)
  if (digits === undefined) return Number.isSafeInteger(value) ? value : BigInt(source)
  if (digits <= 15 && Number.isFinite(value) && (value !== 0 || digits === 0)) return value
  return String(value) === source ? value : new ExactNumber(source)
}

/** How many digits a number has from its first that is not zero; undefined for an integer without an exponent. */
function significantDigits(source: string): number | undefined {
  let digits = 0
  let whole = true
  for (let i = 0; i < source.length; i++) {
    const c = source.charCodeAt(i)
    if (c === 0x65 || c === 0x45) return digits
    if (c === 0x2e) whole = false
    else if (c >= (digits ? 0x30 : 0x31) && c <= 0x39) digits++
  }
  return whole ? undefined : digits
}
