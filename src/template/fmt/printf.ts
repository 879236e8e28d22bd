import { ExactNumber } from '../../json/index.ts'
import { Fault } from '../errors.ts'
import type { Host } from '../funcs/define.ts'
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

type Options = Pick<Host, 'go' | 'max' | 'charge'>

/** Formats as Go's fmt.Sprintf does, faults of the format included as Go shows them. */
export function sprintf(format: string, args: readonly unknown[], options: Options): string {
  options.charge(format.length >> 3)
  return new Printer(format, args, options).print()
}

class Printer {
  private out = ''
  private at = 0
  /** The argument that comes next. */
  private argument = 0
  /** The indexes of this verb are sound. */
  private good = true
  /** Some verb has an index: arguments that are left over are none too many. */
  private reordered = false

  constructor(
    private readonly format: string,
    private readonly args: readonly unknown[],
    private readonly options: Options,
  ) {}

  print(): string {
    const { format, options } = this
    while (this.at < format.length) {
      const percent = format.indexOf('%', this.at)
      this.out += format.slice(this.at, percent < 0 ? undefined : percent)
      if (percent < 0) break
      this.at = percent + 1
      this.good = true
      const flags = this.flags()
      let afterIndex = this.width(flags, this.index())
      afterIndex = this.precision(flags, afterIndex)
      if (!afterIndex) this.index()
      if (this.at >= format.length) {
        this.out += '%!(NOVERB)'
        break
      }
      this.verb(flags)
      if (this.out.length > options.max) throw new Fault('limit', `the string is longer than ${options.max}`)
    }
    if (!this.reordered && this.argument < this.args.length) this.out += this.extra()
    return this.out
  }

  private flags(): Flags {
    const flags = newFlags()
    for (; ; this.at++) {
      const name = FLAGS[this.format[this.at]!]
      if (name === undefined) return flags
      flags[name] = true
    }
  }

  /** Whether an index stands right before what follows. */
  private width(flags: Flags, afterIndex: boolean): boolean {
    if (this.format[this.at] !== '*') {
      flags.width = this.digits()
      if (afterIndex && flags.width !== undefined) this.good = false
      return afterIndex
    }
    this.at++
    const width = this.star()
    if (width === undefined) this.out += '%!(BADWIDTH)'
    else {
      flags.width = Math.abs(width)
      if (width < 0) {
        flags.minus = true
        flags.zero = false
      }
    }
    return false
  }

  private precision(flags: Flags, afterIndex: boolean): boolean {
    // A point at the very end is the verb.
    if (this.format[this.at] !== '.' || this.at + 1 >= this.format.length) return afterIndex
    this.at++
    if (afterIndex) this.good = false
    const again = this.index()
    if (this.format[this.at] !== '*') {
      flags.precision = this.digits() ?? 0
      return again
    }
    this.at++
    const precision = this.star()
    if (precision !== undefined && precision >= 0) flags.precision = precision
    else this.out += '%!(BADPREC)'
    return false
  }

  private verb(flags: Flags): void {
    const { args, options } = this
    const verb = String.fromCodePoint(this.format.codePointAt(this.at)!)
    this.at += verb.length
    if (verb === '%') this.out += '%'
    else if (!this.good) this.out += `%!${verb}(BADINDEX)`
    else if (this.argument >= args.length) this.out += `%!${verb}(MISSING)`
    else {
      if (verb === 'v' || verb === 'w') {
        flags.sharpV = flags.sharp
        flags.plusV = flags.plus
        flags.sharp = false
        flags.plus = false
      }
      const value = args[this.argument++]
      const text = formatArgument(value, verb, flags, options.go)
      this.out += text
      // What is quoted or written as JSON takes time for each character.
      if (typeof value !== 'string' || !'sv'.includes(verb)) options.charge(text.length >> 3)
    }
  }

  private extra(): string {
    const extra = this.args.slice(this.argument).map((arg) => {
      if (arg === null || arg === undefined) return '<nil>'
      return `${typeName(arg)}=${formatArgument(arg, 'v', newFlags(), this.options.go)}`
    })
    return `%!(EXTRA ${extra.join(', ')})`
  }

  /** Reads `[n]`. */
  private index(): boolean {
    const { format } = this
    if (format[this.at] !== '[') return false
    this.reordered = true
    const close = format.indexOf(']', this.at)
    const text = format.slice(this.at + 1, close)
    this.at = close < 0 ? this.at + 1 : close + 1
    if (close < 0 || !/^\d+$/.test(text)) {
      this.good = false
      return false
    }
    const number = Number(text)
    if (number < 1 || number > this.args.length) this.good = false
    else this.argument = number - 1
    return true
  }

  private digits(): number | undefined {
    const { format } = this
    let end = this.at
    while (end < format.length && format[end]! >= '0' && format[end]! <= '9') end++
    const text = format.slice(this.at, end)
    const number = text === '' ? undefined : Number(text)
    const tooLarge = number !== undefined && number > MAX_WIDTH * 10
    this.at = tooLarge ? format.length : end
    return tooLarge ? undefined : number
  }

  /** `*`: the argument that is a width or a precision. */
  private star(): number | undefined {
    if (this.argument >= this.args.length) return undefined
    const value = this.args[this.argument++]
    const whole = typeof value === 'bigint' || (!this.options.go && Number.isInteger(value))
    const number = whole ? Number(value) : Number.NaN
    return Math.abs(number) <= MAX_WIDTH ? number : undefined
  }
}

const FLAGS: Partial<Record<string, 'sharp' | 'zero' | 'plus' | 'minus' | 'space'>> = {
  '#': 'sharp',
  '0': 'zero',
  '+': 'plus',
  '-': 'minus',
  ' ': 'space',
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
  if (depth > 1000 || visited > MAX_ITEMS)
    throw new Fault('limit', 'a value is nested too deeply, or too large')
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
