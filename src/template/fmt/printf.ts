import { ExactNumber } from '../../json/index.ts'
import { Fault } from '../errors.ts'
import type { Complex } from '../node.ts'
import { asMap, type Byte, kindOf, type Struct, typeName } from '../values.ts'
import { sortedKeys, toBytes } from './bytes.ts'
import {
  type Flags,
  formatComplex,
  formatDouble,
  formatInteger,
  newFlags,
  pad,
  padNumber,
  truncate,
} from './numbers.ts'
import { printDialect } from './print.ts'
import { canBackquote, quote } from './strconv.ts'
import { GoTime } from './time.ts'

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

/** One argument by one verb. */
export function formatArgument(value: unknown, verb: string, flags: Flags, go: boolean): string {
  if (!go) {
    const text = formatDialect(value, verb, flags)
    if (text !== undefined) return text
  }
  if (value === null || value === undefined) {
    return verb === 'T' || verb === 'v' ? pad('<nil>', flags) : `%!${verb}(<nil>)`
  }
  if (verb === 'T') return pad(truncate(typeName(value), flags), flags)
  if (verb === 'p') return `%!p(${typeName(value)}=${formatValue(value, 'v', flags, 0)})`
  if (verb === 'w' && ['slice', 'map', 'struct'].includes(kindOf(value))) {
    return `%!w(${typeName(value)}=${formatValue(value, 'v', flags, 0)})`
  }
  return formatValue(value, verb, flags, 0)
}

/** Where the dialect differs from Go: JSON numbers are what the verb wants, composites are JSON. */
export function formatDialect(value: unknown, verb: string, flags: Flags): string | undefined {
  if (verb === 'T') return undefined
  if (value === null || value === undefined) return pad('', flags)
  const number = typeof value === 'number' || value instanceof ExactNumber
  if (verb === 's' && typeof value !== 'string') return pad(truncate(printDialect(value), flags), flags)
  if (verb === 'q' && typeof value === 'number') return pad(quote(printDialect(value), flags.plus), flags)
  if (verb === 'v' && (typeof value === 'object' || number) && !flags.sharpV) {
    const text = printDialect(value)
    return number ? padNumber(text.replace(/^-/, ''), text[0] === '-', flags) : pad(text, flags)
  }
  if (typeof value === 'number' && 'dboOxXcU'.includes(verb) && Number.isInteger(value)) {
    return formatInteger(BigInt(value), verb, flags)
  }
  if (typeof value === 'bigint' && 'eEfFgG'.includes(verb)) return formatDouble(Number(value), verb, flags)
  return undefined
}

/** A value without parts; undefined for a verb that does not fit. */
function formatScalar(value: unknown, verb: string, flags: Flags): string | undefined {
  switch (kindOf(value)) {
    case 'bool':
      return verb === 't' || verb === 'v' ? pad(String(value), flags) : undefined
    case 'int':
      return formatInteger(value as bigint, verb, flags)
    case 'uint': {
      const byte = BigInt((value as Byte).value)
      return verb === 'v' && flags.sharpV
        ? formatInteger(byte, 'x', { ...flags, sharp: true })
        : formatInteger(byte, verb, flags)
    }
    case 'float':
      return formatDouble(value instanceof ExactNumber ? Number(value.text) : (value as number), verb, flags)
    case 'complex':
      return formatComplex(value as Complex, verb, flags)
    default:
      return formatString(value as string, verb, flags)
  }
}

/** Items of the value that is printed now. */
let visited = 0
const MAX_ITEMS = 2_000_000

export function formatValue(value: unknown, verb: string, flags: Flags, depth: number): string {
  visited = depth === 0 ? 0 : visited + 1
  if (depth > 1000 || visited > MAX_ITEMS) throw new Fault('limit', 'a value is nested too deep or too large')
  switch (kindOf(value)) {
    case 'slice':
      return list(value as unknown[], typeName(value), verb, flags, depth)
    case 'map': {
      const map = asMap(value)!
      const name = typeName(value)
      const members = sortedKeys(map).map((key) => {
        const member = formatMember(map[key], verb, flags, depth, name !== 'map[string]string')
        return `${formatValue(key, verb, flags, depth + 1)}:${member}`
      })
      return flags.sharpV ? `${name}{${members.join(', ')}}` : `map[${members.join(' ')}]`
    }
    case 'struct': {
      if (value instanceof GoTime) return formatValue(value.toString(), verb, flags, depth)
      const named = flags.plusV || flags.sharpV
      const fields = (value as Struct).entries().map(([field, member]) => {
        return (named ? `${field}:` : '') + formatMember(member, verb, flags, depth, true)
      })
      return `${flags.sharpV ? typeName(value) : ''}{${fields.join(flags.sharpV ? ', ' : ' ')}}`
    }
    case 'func':
      return verb === 'v' || verb === 'p' ? '0x1' : `%!${verb}(${typeName(value)}=0x1)`
    case 'invalid':
      return '<nil>'
    default:
      // A verb that does not fit is shown with the value, in the same flags.
      return (
        formatScalar(value, verb, flags) ??
        `%!${verb}(${typeName(value)}=${formatScalar(value, 'v', flags) ?? ''})`
      )
  }
}

export function list(
  items: readonly unknown[],
  name: string,
  verb: string,
  flags: Flags,
  depth: number,
): string {
  const texts = items.map((item) => formatMember(item, verb, flags, depth, true))
  return flags.sharpV ? `${name}{${texts.join(', ')}}` : `[${texts.join(' ')}]`
}

export function formatMember(
  value: unknown,
  verb: string,
  flags: Flags,
  depth: number,
  open: boolean,
): string {
  if (value === null || value === undefined) return flags.sharpV && open ? 'interface {}(nil)' : '<nil>'
  return formatValue(value, verb, flags, depth + 1)
}

export function formatString(value: string, verb: string, flags: Flags): string | undefined {
  switch (verb) {
    case 'v':
      if (flags.sharpV) return pad(quote(truncate(value, flags), false), flags)
      return pad(truncate(value, flags), flags)
    case 's':
      return pad(truncate(value, flags), flags)
    case 'q': {
      const text = truncate(value, flags)
      return pad(flags.sharp && canBackquote(text) ? `\`${text}\`` : quote(text, flags.plus), flags)
    }
    case 'x':
    case 'X':
      return hexadecimal(value, verb, flags)
    default:
      return undefined
  }
}

export function hexadecimal(value: string, verb: string, flags: Flags): string {
  const bytes = toBytes(value).subarray(0, flags.precision ?? undefined)
  const prefix = flags.sharp ? '0x' : ''
  const hex = Buffer.from(bytes).toString('hex')
  const text = hex === '' ? '' : prefix + (flags.space ? hex.match(/../g)!.join(` ${prefix}`) : hex)
  return pad(verb === 'X' ? text.toUpperCase() : text, flags)
}
