import { ExactNumber } from '../../json/index.ts'
import { Fault } from '../errors.ts'
import { Complex } from '../node.ts'
import type { Host } from '../types.ts'
import { asMap, Byte, isMissing, kindOf, type Struct, typeName } from '../values.ts'
import { sortedKeys, toBytes } from './bytes.ts'
import { toJson } from './json.ts'
import {
  Flags,
  formatComplex,
  formatDouble,
  formatFloat,
  formatInteger,
  pad,
  padNumber,
  truncate,
} from './numbers.ts'
import { canBackquote, quote } from './strconv.ts'
import { GoTime } from './time.ts'

/** Prints as Go's `%v`; nil and missing as `<nil>`. */
export function printGo(value: unknown): string {
  return typeof value === 'string' ? value : formatValue(value, 'v', new Flags(), 0)
}

/** Prints in the gateway's dialect: numbers as in JSON, composite values as JSON, nothing for nil and missing. */
export function printDialect(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
      return Number.isFinite(value) ? String(value) : formatFloat(value, 'g')
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'object':
      if (value === null) return ''
      if (value instanceof ExactNumber) return value.text
      if (value instanceof GoTime) return value.toJSON()
      return value instanceof Byte || value instanceof Complex ? printGo(value) : toJson(value, false)
    default:
      return ''
  }
}

/** Larger widths and precisions are `%!(BADWIDTH)` and `%!(BADPREC)` in Go. */
const MAX_WIDTH = 1e6

type Options = Pick<Host, 'go' | 'max' | 'charge'>

/** Formats as Go's fmt.Sprintf does, including its error texts. */
export function sprintf(format: string, args: readonly unknown[], options: Options): string {
  options.charge(format.length >> 3)
  return new Printer(format, args, options).print()
}

const FLAGS: Record<string, 'sharp' | 'zero' | 'plus' | 'minus' | 'space'> = {
  '#': 'sharp',
  '0': 'zero',
  '+': 'plus',
  '-': 'minus',
  ' ': 'space',
}

class Printer {
  private out = ''
  private at = 0
  /** Index of the next argument. */
  private argument = 0
  /** Whether the indexes of this verb are valid. */
  private good = true
  /** Whether any verb has an index; unused arguments are then no error. */
  private reordered = false

  constructor(
    private readonly format: string,
    private readonly args: readonly unknown[],
    private readonly options: Options,
  ) {}

  print(): string {
    const { format, options } = this
    while (this.at < format.length) {
      this.out += this.read(/[^%]*/y)
      if (this.at >= format.length) break
      this.at++
      this.good = true
      this.verb(this.flags())
      if (this.out.length > options.max) throw new Fault('limit', `the string is longer than ${options.max}`)
    }
    if (!this.reordered && this.argument < this.args.length) this.out += this.extra()
    return this.out
  }

  /** Reads the sticky expression's match here. */
  private read(form: RegExp): string {
    form.lastIndex = this.at
    const text = form.exec(this.format)?.[0] ?? ''
    this.at += text.length
    return text
  }

  private flags(): Flags {
    const flags = new Flags()
    for (const flag of this.read(/[#0+ -]*/y)) flags[FLAGS[flag]!] = true
    let indexed = this.index()
    if (this.read(/\*/y)) {
      const width = this.star()
      if (width === undefined) this.out += '%!(BADWIDTH)'
      else {
        flags.width = Math.abs(width)
        flags.minus ||= width < 0
      }
      indexed = false
    } else {
      flags.width = this.digits()
      if (indexed && flags.width !== undefined) this.good = false
    }
    // A point at the end is the verb itself.
    if (this.read(/\.(?=.)/sy)) {
      if (indexed) this.good = false
      indexed = this.index()
      if (this.read(/\*/y)) {
        const precision = this.star() ?? -1
        if (precision >= 0) flags.precision = precision
        else this.out += '%!(BADPREC)'
        indexed = false
      } else flags.precision = this.digits() ?? 0
    }
    if (!indexed) this.index()
    return flags
  }

  private verb(flags: Flags): void {
    const { args, options } = this
    const verb = this.read(/./suy)
    if (verb === '') this.out += '%!(NOVERB)'
    else if (verb === '%') this.out += '%'
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
      // To quote a text or to write JSON takes time for each character.
      if (typeof value === 'string' && !'sv'.includes(verb)) options.charge(value.length >> 3)
      const text = formatArgument(value, verb, flags, options.go)
      if (typeof value !== 'string') options.charge(text.length >> 3)
      this.out += text
    }
  }

  private extra(): string {
    const extra = this.args.slice(this.argument).map((arg) => {
      if (isMissing(arg)) return '<nil>'
      return `${typeName(arg)}=${formatArgument(arg, 'v', new Flags(), this.options.go)}`
    })
    return `%!(EXTRA ${extra.join(', ')})`
  }

  /** Reads `[n]`; whether there is one. */
  private index(): boolean {
    const text = this.read(/\[(?:[^\]]{0,100}\])?/y)
    if (text === '') return false
    this.reordered = true
    const number = /^\[\d+\]$/.test(text) ? Number(text.slice(1, -1)) : undefined
    if (number !== undefined && number >= 1 && number <= this.args.length) this.argument = number - 1
    else this.good = false
    return number !== undefined
  }

  private digits(): number | undefined {
    const text = this.read(/\d+/y)
    if (text === '') return undefined
    if (Number(text) <= MAX_WIDTH * 10) return Number(text)
    this.at = this.format.length
    return undefined
  }

  /** `*`: an argument as width or precision. */
  private star(): number | undefined {
    if (this.argument >= this.args.length) return undefined
    const value = this.args[this.argument++]
    const whole = typeof value === 'bigint' || (!this.options.go && Number.isInteger(value))
    const number = whole ? Number(value) : Number.NaN
    return Math.abs(number) <= MAX_WIDTH ? number : undefined
  }
}

function formatArgument(value: unknown, verb: string, flags: Flags, go: boolean): string {
  if (!go) {
    const text = formatDialect(value, verb, flags)
    if (text !== undefined) return text
  }
  if (isMissing(value)) {
    return verb === 'T' || verb === 'v' ? pad('<nil>', flags) : `%!${verb}(<nil>)`
  }
  if (verb === 'T') return pad(truncate(typeName(value), flags), flags)
  if (verb === 'p') return `%!p(${typeName(value)}=${formatValue(value, 'v', flags, 0)})`
  if (verb === 'w' && ['slice', 'map', 'struct'].includes(kindOf(value))) {
    return `%!w(${typeName(value)}=${formatValue(value, 'v', flags, 0)})`
  }
  return formatValue(value, verb, flags, 0)
}

/** Differences of the dialect from Go: JSON numbers suit any number verb, composites are JSON. */
function formatDialect(value: unknown, verb: string, flags: Flags): string | undefined {
  if (verb === 'T') return undefined
  if (isMissing(value)) return pad('', flags)
  const number = typeof value === 'number' || value instanceof ExactNumber
  if (verb === 's' && typeof value !== 'string') return pad(truncate(printDialect(value), flags), flags)
  if (verb === 'q' && typeof value === 'number') return pad(quote(printDialect(value), flags.plus), flags)
  if (verb === 'v' && (typeof value === 'object' || number) && !flags.sharpV) {
    const text = printDialect(value)
    return number ? padNumber(text, flags) : pad(text, flags)
  }
  if (typeof value === 'number' && 'dboOxXcU'.includes(verb) && Number.isInteger(value)) {
    return formatInteger(BigInt(value), verb, flags)
  }
  if (typeof value === 'bigint' && 'eEfFgG'.includes(verb)) return formatDouble(Number(value), verb, flags)
  return undefined
}

/** Formats a scalar; undefined for an unsuitable verb. */
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

/** Items of the value being printed. */
let itemsVisited = 0

function formatValue(value: unknown, verb: string, flags: Flags, depth: number): string {
  itemsVisited = depth === 0 ? 0 : itemsVisited + 1
  if (depth > 1000 || itemsVisited > 2_000_000)
    throw new Fault('limit', 'a value is nested too deeply, or too large')
  switch (kindOf(value)) {
    case 'slice': {
      const items = (value as unknown[]).map((item) => formatMember(item, verb, flags, depth, true))
      return flags.sharpV ? `${typeName(value)}{${items.join(', ')}}` : `[${items.join(' ')}]`
    }
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
      // An unsuitable verb is shown with the value in the same flags.
      return (
        formatScalar(value, verb, flags) ??
        `%!${verb}(${typeName(value)}=${formatScalar(value, 'v', flags) ?? ''})`
      )
  }
}

function formatMember(value: unknown, verb: string, flags: Flags, depth: number, open: boolean): string {
  if (isMissing(value)) return flags.sharpV && open ? 'interface {}(nil)' : '<nil>'
  return formatValue(value, verb, flags, depth + 1)
}

function formatString(value: string, verb: string, flags: Flags): string | undefined {
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

function hexadecimal(value: string, verb: string, flags: Flags): string {
  const bytes = toBytes(value).subarray(0, flags.precision ?? undefined)
  const prefix = flags.sharp ? '0x' : ''
  const hex = Buffer.from(bytes).toString('hex')
  const text = hex === '' ? '' : prefix + (flags.space ? hex.match(/../g)!.join(` ${prefix}`) : hex)
  return pad(verb === 'X' ? text.toUpperCase() : text, flags)
}
