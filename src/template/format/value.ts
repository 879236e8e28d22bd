import { ExactNumber } from '../../json/index.ts'
import { sortedKeys, toBytes } from '../bytes.ts'
import { Fault } from '../errors.ts'
import { asMap, type Byte, kindOf, type Struct, typeName } from '../kinds.ts'
import type { Complex } from '../nodes.ts'
import { printDialect } from '../print.ts'
import { canBackquote, quote } from '../strconv.ts'
import { GoTime } from '../time.ts'
import { type Flags, pad, padNumber, truncate } from './flags.ts'
import { formatComplex, formatDouble, formatInteger } from './numbers.ts'

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
