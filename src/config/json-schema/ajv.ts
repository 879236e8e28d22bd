import { createRequire } from 'node:module'
import type { Format, Options } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'

const require = createRequire(import.meta.url)

/** ajv of JSON Schema 2020-12, loaded on first use, which takes longer than most commands. */
export function makeAjv(options: Options): Ajv2020 {
  const loaded = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  return new loaded.Ajv2020(options)
}

/** Code generation for keywords. */
export function codegen(): typeof import('ajv/dist/compile/codegen/index.js') {
  return require('ajv/dist/compile/codegen/index.js')
}

/** The formats of JSON Schema, such as `date-time`; all are fast for any text. */
export function addFormats(ajv: Ajv2020): void {
  const add = require('ajv-formats') as (ajv: Ajv2020) => void
  add(ajv)
  for (const [name, format] of Object.entries(ajv.formats)) {
    if (format !== undefined) ajv.addFormat(name, boundedFormat(name, format as Format))
  }
}

/** A scheme, where there must be one, and characters of RFC 3986. */
const URI_CHARACTERS = /^[a-z][a-z0-9+\-.]*:[\w\-.~:/?#[\]@!$&'()*+,;=%]*$/i
const REFERENCE_CHARACTERS = /^[\w\-.~:/?#[\]@!$&'()*+,;=%"]*$/
const LONG: Record<string, (text: string) => boolean> = {
  uri: (text) => URI_CHARACTERS.test(text),
  'uri-reference': (text) => REFERENCE_CHARACTERS.test(text),
}

interface FormatDefinition {
  type?: string
  validate?: unknown
}

/** Formats with texts of any length, and a linear check. */
const ANY_LENGTH = new Set(['byte', 'password', 'binary'])

/**
 * A format of ajv-formats that takes no text long: `url` without its expression, which takes quadratic time; the
 * others refuse texts that are too long to be valid.
 */
export function boundedFormat<Format>(name: string, format: Format): Format {
  if (name === 'url') return isUrl as Format
  const check = checkOf(format)
  if (!check || ANY_LENGTH.has(name)) return format
  // Only a URI may be longer, and the gateway checks just the characters of such a URI.
  const bounded = (text: string) => (text.length <= 4096 ? check(text) : (LONG[name]?.(text) ?? false))
  const definition = format as FormatDefinition
  return (
    typeof format === 'object' && !(format instanceof RegExp) ? { ...definition, validate: bounded } : bounded
  ) as Format
}

function checkOf(format: unknown): ((text: string) => boolean) | undefined {
  if (format instanceof RegExp) return (text) => format.test(text)
  if (typeof format === 'function') return format as (text: string) => boolean
  if (typeof format !== 'object' || format === null) return undefined
  const { type, validate } = format as FormatDefinition
  return type === 'number' ? undefined : checkOf(validate)
}

function isUrl(text: string): boolean {
  return text.length <= 65_536 && /^(?:https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text)
}
