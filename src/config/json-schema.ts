import type { ErrorObject } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { type Json, stringify } from '../json/index.ts'
import { addFormats, makeAjv } from './ajv.ts'
import type { Path } from './read.ts'
import { pointerPath } from './schema-findings.ts'
import { list, quote, typeNoun, valueAt } from './words.ts'

let shared: Ajv2020 | undefined

function ajv(): Ajv2020 {
  if (!shared) {
    shared = makeAjv({ strict: false, allErrors: true, logger: false, addUsedSchema: false })
    addFormats(shared)
  }
  return shared
}

export interface SchemaFault {
  /** JSON pointer into the schema. */
  pointer: string
  message: string
}

const DIALECT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/

/** What keeps a value from being a JSON Schema 2020-12. */
export function metaFaults(schema: Json): SchemaFault[] {
  const checker = ajv()
  const { $schema: dialect } = schema as { $schema?: Json }
  if (dialect !== undefined && !(typeof dialect === 'string' && DIALECT.test(dialect)))
    return [{ pointer: '/$schema', message: '`$schema` names another dialect than 2020-12' }]
  if (!checker.validateSchema(schema as object)) {
    // `anyOf` and its like only repeat what its parts say.
    const errors = (checker.errors ?? []).filter(({ keyword }) => !['anyOf', 'if', 'oneOf'].includes(keyword))
    const seen = new Set<string>()
    return errors.flatMap(({ instancePath, ...error }) => {
      if (seen.has(instancePath)) return []
      seen.add(instancePath)
      return [{ pointer: instancePath, message: metaMessage({ instancePath, ...error }) }]
    })
  }
  const references = JSON.stringify(schema).includes('"$ref"')
  return references ? compileFaults(schema as object) : []
}

/** References are found only by compiling. */
function compileFaults(schema: object): SchemaFault[] {
  try {
    makeAjv({ strict: false, logger: false, validateFormats: false }).compile(schema)
    return []
  } catch (error) {
    return [{ pointer: '', message: (error as Error).message.replace(/ from id .*$/, '') }]
  }
}

function metaMessage({ instancePath, keyword, params, message }: ErrorObject): string {
  const key = instancePath.split('/').at(-1)
  if (keyword === 'type') return `\`${key}\` wants ${typeNoun(params.type)}`
  if (keyword === 'enum') return `\`${key}\` must be one of ${params.allowedValues.join(', ')}`
  return `\`${key}\` ${message}`
}

/**
 * What is wrong with a value by a schema, in a few words; undefined when nothing is, or the schema cannot say.
 * @param say what a value is, in a sentence
 */
export function schemaErrors(
  schema: { [key: string]: Json },
  value: Json,
  say: (path: Path, value: unknown) => string,
): string | undefined {
  try {
    const validate = makeAjv({ strict: false, logger: false, validateFormats: false }).compile(schema)
    if (validate(value)) return undefined
    return misfit(validate.errors![0]!, value, say)
  } catch {
    return undefined
  }
}

function misfit(
  { instancePath, keyword, params, message }: ErrorObject,
  value: Json,
  say: (path: Path, value: unknown) => string,
): string {
  const path = pointerPath(instancePath, value)
  const last = path.at(-1)
  const at = last === undefined ? '' : typeof last === 'number' ? `item ${last + 1} ` : `${quote(last)} `
  const of = path.slice(0, -1).map((key) => (typeof key === 'number' ? `item ${key + 1}` : quote(key)))
  const subject = at && of.length > 0 ? `${at}of ${of.reverse().join(' of ')} ` : at
  const found = say(path, valueAt(value, path))
  if (keyword === 'type') return `${subject}is ${found}, but must be ${typeNoun(params.type)}`
  if (keyword === 'enum') {
    const allowed = (params.allowedValues as Json[]).map((one) =>
      typeof one === 'string' ? one : stringify(one),
    )
    return `${subject}is ${found}, allowed are ${list(allowed)}`
  }
  return `${subject}${message}`
}
