import type { Json, JsonObject } from '../json/index.ts'
import { compilePattern } from '../template/index.ts'
import { listOf } from './values.ts'

/** More values, or more characters of them, are for a description. */
const MAX_VALUES = 150
const MAX_VALUES_TEXT = 3000
const MAX_PATTERN = 200
const MAX_DEFAULT = 200
/** Those that everybody checks alike. */
const FORMATS = new Set(['date-time', 'date', 'time', 'email', 'uuid', 'uri', 'ipv4', 'ipv6', 'hostname'])

/** The allowed values, where they are few and of the types that the schema says. */
export function enumOf(schema: JsonObject, types: readonly string[]): Json[] | undefined {
  const given = schema.const !== undefined ? [schema.const] : listOf(schema.enum)
  const nullable = types.includes('null')
  const values = [...new Set(given.filter((value) => value !== null || nullable))]
  if (values.filter((value) => value !== null).length === 0 || values.length > MAX_VALUES) return undefined
  if (nullable && schema.nullable === true && !values.includes(null)) values.push(null)
  if (
    !values.every(
      (value) => isExact(value) && (types.length === 0 || types.some((type) => isOf(value, type))),
    )
  )
    return undefined
  return JSON.stringify(values).length > MAX_VALUES_TEXT ? undefined : values
}

/** A scalar that comes through JSON unchanged. */
function isExact(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !isRounded(value)
  return value === null || typeof value === 'string' || typeof value === 'boolean'
}

/** An integer that may have been another one before it was read. */
function isRounded(value: number): boolean {
  return Math.abs(value) > Number.MAX_SAFE_INTEGER
}

function isOf(value: Json, type: string): boolean {
  if (value === null) return type === 'null'
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

/**
 * Lengths, ranges, formats and patterns, each only with a type that it is about.
 * @param note is told why a pattern is left out
 */
export function constraints(
  schema: JsonObject,
  types: readonly string[],
  note: (reason: string) => void,
): JsonObject {
  const made: JsonObject = {}
  if (types.includes('string')) {
    if (typeof schema.format === 'string' && FORMATS.has(schema.format)) made.format = schema.format
    if (typeof schema.pattern === 'string') {
      const fault = patternFault(schema.pattern)
      if (fault === undefined) made.pattern = schema.pattern
      else note(`a pattern cannot be checked, and is left out: ${fault}`)
    }
    range(schema, made, 'minLength', 'maxLength', isCount)
  }
  if (types.includes('number') || types.includes('integer')) {
    range(schema, made, 'minimum', 'maximum', isNumber)
    // OpenAPI 3.0 has the exclusive ones as switches.
    for (const [exclusive, limit] of [
      ['exclusiveMinimum', 'minimum'],
      ['exclusiveMaximum', 'maximum'],
    ] as const) {
      const value = schema[exclusive]
      if (isNumber(value)) made[exclusive] = value as Json
      else if (value === true && made[limit] !== undefined) {
        made[exclusive] = made[limit]
        delete made[limit]
      }
    }
    if (isNumber(schema.multipleOf) && (schema.multipleOf as number) > 0)
      made.multipleOf = schema.multipleOf as Json
  }
  if (types.includes('array')) {
    range(schema, made, 'minItems', 'maxItems', isCount)
    if (schema.uniqueItems === true) made.uniqueItems = true
  }
  return made
}

function range(
  schema: JsonObject,
  made: JsonObject,
  least: string,
  most: string,
  fits: (value: unknown) => boolean,
): void {
  const [low, high] = [schema[least], schema[most]]
  if (fits(low) && fits(high) && (low as number) > (high as number)) return
  if (fits(low)) made[least] = low as Json
  if (fits(high)) made[most] = high as Json
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && !isRounded(value)
}

function isCount(value: unknown): boolean {
  return isNumber(value) && Number.isInteger(value) && (value as number) >= 0
}

/** Why a pattern is left out; undefined for one that can be kept. */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN) return `it is longer than ${MAX_PATTERN} characters`
  // Some write the slashes of a programming language.
  if (/^\/.*\/[a-z]*$/.test(pattern)) return 'it stands between slashes'
  const compiled = compilePattern(pattern)
  return 'error' in compiled ? compiled.error : undefined
}

/** The default, where it is a value that the schema allows. */
export function fittingDefault(schema: JsonObject, made: JsonObject): Json | undefined {
  const value = schema.default
  if (value === undefined || value === null) return undefined
  const types = Array.isArray(made.type) ? made.type : [made.type]
  if (!isExact(value)) {
    const isList = Array.isArray(value) && value.every(isExact) && types.includes('array')
    return isList && JSON.stringify(value).length <= MAX_DEFAULT ? value : undefined
  }
  if (typeof value === 'string' && (value.length > MAX_DEFAULT || value === '')) return undefined
  if (Array.isArray(made.enum) && !made.enum.includes(value)) return undefined
  if (made.type === undefined && made.anyOf !== undefined) return undefined
  return made.type === undefined || types.some((type) => isOf(value, String(type))) ? value : undefined
}
