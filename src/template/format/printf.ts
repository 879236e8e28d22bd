import { Fault } from '../errors.ts'
import { typeName } from '../kinds.ts'
import { type Flags, newFlags } from './flags.ts'
import { formatArgument } from './value.ts'

/** Widths and precisions beyond this are `%!(BADWIDTH)` and `%!(BADPREC)` in Go. */
const MAX_WIDTH = 1e6

export interface PrintfOptions {
  /** Go's own printing; else the gateway's dialect. */
  go: boolean
  /** Longest result in UTF-16 units. */
  max: number
  /** Counts work done, in steps. */
  charge(steps: number): void
}

/** Formats as Go's fmt.Sprintf does, faults of the format included as Go shows them. */
export function sprintf(format: string, args: readonly unknown[], options: PrintfOptions): string {
  options.charge(format.length >> 3)
  let out = ''
  let argument = 0
  let reordered = false
  let anyReordered = false
  let at = 0
  let good = true

  /** Reads `[n]`. */
  const index = () => {
    if (format[at] !== '[') return false
    reordered = true
    const close = format.indexOf(']', at)
    if (close < 0) {
      good = false
      at++
      return false
    }
    const text = format.slice(at + 1, close)
    at = close + 1
    if (!/^\d+$/.test(text)) {
      good = false
      return false
    }
    const number = Number(text)
    if (number < 1 || number > args.length) good = false
    else argument = number - 1
    return true
  }
  const digits = () => {
    let end = at
    while (end < format.length && format[end]! >= '0' && format[end]! <= '9') end++
    const text = format.slice(at, end)
    const number = text === '' ? undefined : Number(text)
    if (number !== undefined && number > MAX_WIDTH * 10) {
      at = format.length
      return undefined
    }
    at = end
    return number
  }
  const star = (): number | undefined => {
    if (argument >= args.length) return undefined
    const value = args[argument++]
    if (typeof value === 'bigint' && value <= BigInt(MAX_WIDTH) && value >= BigInt(-MAX_WIDTH))
      return Number(value)
    if (!options.go && Number.isInteger(value) && Math.abs(value as number) <= MAX_WIDTH)
      return value as number
    return undefined
  }

  while (at < format.length) {
    const percent = format.indexOf('%', at)
    if (percent < 0) {
      out += format.slice(at)
      break
    }
    out += format.slice(at, percent)
    at = percent + 1
    good = true
    reordered = false
    const flags: Flags = newFlags()
    at = readFlags(format, at, flags)
    let afterIndex = index()
    anyReordered ||= reordered
    if (format[at] === '*') {
      at++
      const width = star()
      if (width === undefined) out += '%!(BADWIDTH)'
      else {
        flags.width = Math.abs(width)
        if (width < 0) {
          flags.minus = true
          flags.zero = false
        }
      }
      afterIndex = false
    } else {
      flags.width = digits()
      if (afterIndex && flags.width !== undefined) good = false
    }
    // A point at the very end is the verb.
    if (format[at] === '.' && at + 1 < format.length) {
      at++
      if (afterIndex) good = false
      afterIndex = index()
      if (format[at] === '*') {
        at++
        const precision = star()
        if (precision === undefined) out += '%!(BADPREC)'
        else if (precision >= 0) flags.precision = precision
        else out += '%!(BADPREC)'
        afterIndex = false
      } else flags.precision = digits() ?? 0
    }
    if (!afterIndex) afterIndex = index()
    anyReordered ||= reordered
    if (at >= format.length) {
      out += '%!(NOVERB)'
      break
    }
    const verb = String.fromCodePoint(format.codePointAt(at)!)
    at += verb.length
    if (verb === '%') out += '%'
    else if (!good) out += `%!${verb}(BADINDEX)`
    else if (argument >= args.length) out += `%!${verb}(MISSING)`
    else {
      if (verb === 'v' || verb === 'w') {
        flags.sharpV = flags.sharp
        flags.plusV = flags.plus
        flags.sharp = false
        flags.plus = false
      }
      const value = args[argument++]
      const text = formatArgument(value, verb, flags, options.go)
      out += text
      // What is quoted or written as JSON takes time for each character.
      if (typeof value !== 'string' || !'sv'.includes(verb)) options.charge(text.length >> 3)
    }
    if (out.length > options.max) throw new Fault('limit', `the text is longer than ${options.max}`)
  }
  if (!anyReordered && argument < args.length) {
    const extra = args
      .slice(argument)
      .map((arg) =>
        arg === null || arg === undefined
          ? '<nil>'
          : `${typeName(arg)}=${formatArgument(arg, 'v', newFlags(), options.go)}`,
      )
    out += `%!(EXTRA ${extra.join(', ')})`
  }
  return out
}

function readFlags(format: string, from: number, flags: Flags): number {
  for (let at = from; ; at++) {
    switch (format[at]) {
      case '#':
        flags.sharp = true
        break
      case '0':
        flags.zero = true
        break
      case '+':
        flags.plus = true
        break
      case '-':
        flags.minus = true
        break
      case ' ':
        flags.space = true
        break
      default:
        return at
    }
  }
}
