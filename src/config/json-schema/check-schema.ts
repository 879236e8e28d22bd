import type { ErrorObject } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { isObject, type Json, type JsonObject, stringify, valueAt } from '../../json/index.ts'
import { compilePattern, syntaxFault } from '../../template/index.ts'
import { nearest, quote, quoteAll } from '../../text/index.ts'
import type { Path } from '../model.ts'
import { type Describe, describeType, pointerPath, sureChoice } from '../schema-findings.ts'
import { addFormats, makeAjv } from './ajv.ts'
import { boundedAjv, withinWork } from './bounded.ts'

let shared: Ajv2020 | undefined

function ajv(): Ajv2020 {
  if (!shared) {
    shared = makeAjv({ strict: false, allErrors: true, logger: false, addUsedSchema: false })
    addFormats(shared)
  }
  return shared
}

interface SchemaFault {
  code: 'invalid-schema' | 'unsupported-pattern'
  /** Into the schema. */
  path: Path
  message: string
  hint?: string
  suggestion?: string
}

const DIALECT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/

/** Errors of a value as a JSON Schema 2020-12. */
export function metaFaults(schema: Json): SchemaFault[] {
  const checker = ajv()
  const { $schema: dialect } = schema as { $schema?: Json }
  if (dialect !== undefined && !(typeof dialect === 'string' && DIALECT.test(dialect)))
    return [
      {
        code: 'invalid-schema',
        path: ['$schema'],
        message: '`$schema` names another dialect than 2020-12',
        hint: 'Remove `$schema`, and write keywords of older drafts as 2020-12 has them',
      },
    ]
  if (!checker.validateSchema(schema as object)) {
    // `anyOf` and the like only repeat the errors of their parts.
    const errors = (checker.errors ?? []).filter(({ keyword }) => !['anyOf', 'if', 'oneOf'].includes(keyword))
    const seen = new Set<string>()
    const isFirst = ({ instancePath }: ErrorObject) => !seen.has(instancePath) && seen.add(instancePath)
    return errors.filter(isFirst).map((error): SchemaFault => {
      const path = pointerPath(error.instancePath, schema)
      return { code: 'invalid-schema', path, ...metaWords(error, valueAt(schema, path)) }
    })
  }
  const text = JSON.stringify(schema)
  const patterns = text.includes('"pattern') ? patternFaults(schema) : []
  if (patterns.some(({ code }) => code === 'invalid-schema')) return patterns
  return text.includes('"$ref"') ? [...patterns, ...compileFaults(schema as object)] : patterns
}

/** References are found only by compiling. */
function compileFaults(schema: object): SchemaFault[] {
  try {
    makeAjv({ strict: false, logger: false, validateFormats: false }).compile(schema)
    return []
  } catch (error) {
    const { message, missingRef } = error as Error & { missingRef?: string }
    let path: Path = []
    eachSchema(schema as Json, [], (one, at) => {
      if (missingRef !== undefined && one.$ref === missingRef && path.length === 0) path = [...at, '$ref']
    })
    const hint = 'Fix the reference, such as `#/$defs/name`, or define what it names'
    return [{ code: 'invalid-schema', path, message: message.replace(/ from id [\s\S]*$/, ''), hint }]
  }
}

/** Keywords whose value is no schema. */
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'required'])
/** Keywords whose keys are the author's names, not keywords. */
const BY_NAME = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** Calls for a schema and each schema in it, at any depth; outer ones first. */
export function eachSchema(schema: Json, path: Path, look: (schema: JsonObject, path: Path) => void): void {
  if (Array.isArray(schema)) for (const [i, one] of schema.entries()) eachSchema(one, [...path, i], look)
  if (!isObject(schema)) return
  look(schema, path)
  for (const keyword of Object.keys(schema)) {
    const value = schema[keyword] as Json
    if (typeof value !== 'object' || VALUES.has(keyword)) continue
    if (!BY_NAME.has(keyword)) eachSchema(value, [...path, keyword], look)
    else if (isObject(value))
      for (const [name, one] of Object.entries(value)) eachSchema(one, [...path, keyword, name], look)
  }
}

/** The meta-schema accepts any text as a regular expression; with an invalid one, no call could be checked. */
function patternFaults(schema: Json): SchemaFault[] {
  const faults: SchemaFault[] = []
  eachSchema(schema, [], ({ pattern, patternProperties }, path) => {
    if (typeof pattern === 'string') faults.push(...patternFault([...path, 'pattern'], pattern))
    for (const name of isObject(patternProperties) ? Object.keys(patternProperties) : [])
      faults.push(...patternFault([...path, 'patternProperties', name], name))
  })
  return faults
}

/** Patterns of arguments that no linear engine can run; invalid expressions are found elsewhere. */
export function unsupportedPatterns(argument: Json): SchemaFault[] {
  return patternFaults(argument).filter(({ code }) => code === 'unsupported-pattern')
}

function patternFault(path: Path, pattern: string): SchemaFault[] {
  const reason = syntaxFault(pattern)
  if (reason !== undefined) {
    const message = `${quote(pattern)} is not a regular expression: ${reason}`
    return [{ code: 'invalid-schema', path, message, hint: PATTERN_HINTS[reason] ?? PATTERN_HINT }]
  }
  const compiled = compilePattern(pattern)
  if (!('error' in compiled)) return []
  const message = `the pattern ${quote(pattern)} cannot be checked in linear time: ${compiled.error}`
  const hint = UNSUPPORTED_HINTS[compiled.kind === 'syntax' ? 'size' : compiled.kind]
  return [{ code: 'unsupported-pattern', path, message, hint }]
}

const UNSUPPORTED_HINTS = {
  'look-around':
    'Move a look-ahead to right after a leading `^` and a look-behind to right before a final `$`, or split the pattern with `allOf` and `not`',
  'back-reference': 'Write out the strings that the group can match',
  size: 'Use `minLength` and `maxLength` in place of large repetition counts, or split the pattern with `allOf`',
}

const PATTERN_HINT = 'Fix the expression; escape a literal `[`, `(` or `{` with a backslash'
/** Patterns that other engines, and this one without the `u` flag, accept. */
const PATTERN_HINTS: Record<string, string> = {
  'invalid escape': 'Remove the backslash from characters that need none, such as `-` outside of `[ ]`',
  'invalid character class': 'Inside `[ ]` write a literal `-` last, or as `\\-`',
}

function metaWords(error: ErrorObject, value: unknown): Omit<SchemaFault, 'code' | 'path'> {
  const { instancePath, keyword, params, message } = error
  const key = instancePath.split('/').at(-1)
  if (keyword === 'type') {
    const wanted = describeType(params.type)
    return { message: `\`${key}\` must be ${wanted}`, hint: `Write ${wanted}` }
  }
  if (keyword === 'enum') {
    const allowed = params.allowedValues as string[]
    const suggestion =
      sureChoice(value, allowed) ?? (typeof value === 'string' ? nearest(value, allowed) : undefined)
    const message = `\`${key}\` must be one of ${quoteAll(allowed)}`
    return suggestion === undefined ? { message, hint: 'Write one of these' } : { message, suggestion }
  }
  return { message: `\`${key}\` ${message}`, hint: 'Fix the schema' }
}

/**
 * A short validation error; undefined if the value is valid, or the schema cannot be used.
 */
export function schemaErrors(
  schema: { [key: string]: Json },
  value: Json,
  describe: Describe,
): string | undefined {
  try {
    const validate = boundedAjv({ strict: false, logger: false, validateFormats: false }).compile(schema)
    if (withinWork(4_000_000, () => validate(value))) return undefined
    return misfit(validate.errors![0]!, value, describe)
  } catch {
    return undefined
  }
}

function misfit(
  { instancePath, keyword, params, message }: ErrorObject,
  value: Json,
  describe: Describe,
): string {
  const path = pointerPath(instancePath, value)
  const last = path.at(-1)
  const at = last === undefined ? '' : typeof last === 'number' ? `item ${last + 1} ` : `${quote(last)} `
  const of = path.slice(0, -1).map((key) => (typeof key === 'number' ? `item ${key + 1}` : quote(key)))
  const subject = at && of.length > 0 ? `${at}of ${of.reverse().join(' of ')} ` : at
  const found = describe(path, valueAt(value, path))
  if (keyword === 'type') return `${subject}must be ${describeType(params.type)}; got ${found}`
  if (keyword === 'enum') {
    const allowed = (params.allowedValues as Json[]).map((one) =>
      typeof one === 'string' ? one : stringify(one),
    )
    return `${subject}must be one of ${quoteAll(allowed)}; got ${found}`
  }
  return `${subject}${message}`
}
