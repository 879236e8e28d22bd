import { isDeepStrictEqual } from 'node:util'
import { eachSchema } from '../../config/json-schema/check-schema.ts'
import type { Path, Reporter } from '../../findings/index.ts'
import { ExactNumber, isObject, type Json, type JsonObject, stringify } from '../../json/index.ts'
import { quote } from '../../text/index.ts'

const TOP_LEVEL = ['oneOf', 'anyOf', 'allOf', 'not', 'enum', '$ref']

/** Keywords of older drafts and OpenAPI 3.0, with their 2020-12 equivalents. */
const OTHER_DIALECTS: Record<string, string> = {
  nullable: 'Write `type: [string, "null"]`, with the type that is meant',
  additionalItems: 'Write `prefixItems` for the first items, and `items` for the others',
  dependencies: 'Write `dependentRequired` or `dependentSchemas`',
  discriminator: 'Remove it: a `const` in each of the alternatives tells them apart',
  $recursiveRef: 'Write `$dynamicRef`, or `$ref: "#"`',
  divisibleBy: 'Write `multipleOf`',
}

/** Keywords that model providers refuse in `inputSchema`, or that 2020-12 ignores. */
export function checkSchema(schema: JsonObject, path: Path, report: Reporter) {
  const isInput = path[0] === 'inputSchema'
  for (const keyword of isInput ? TOP_LEVEL.filter((key) => Object.hasOwn(schema, key)) : [])
    report({
      code: 'schema-top-level',
      path: [...path, keyword],
      message: `\`${keyword}\` at the top of \`inputSchema\`, which model providers refuse`,
      hint: 'Move it into a property, or make each case a tool',
    })
  eachSchema(schema, path, (one, at) => {
    for (const [keyword, hint] of Object.entries(OTHER_DIALECTS))
      if (Object.hasOwn(one, keyword))
        report({
          code: 'schema-dialect',
          path: [...at, keyword],
          message: `\`${keyword}\` is not a keyword of JSON Schema 2020-12, so it is ignored`,
          hint,
        })
    if (isInput) checkItems(one, at, report)
    checkDisagreement(one, at, report)
  })
}

/** An array without `items`. */
export function checkItems(schema: JsonObject, path: Path, report: Reporter, name?: string) {
  const { type, items, prefixItems, contains } = schema
  const says = items !== undefined && !(isObject(items) && Object.keys(items).length === 0)
  if (type !== 'array' || says || prefixItems !== undefined || contains !== undefined) return
  const subject = name ?? (path.at(-1) === 'items' ? 'an inner array' : `the array \`${path.at(-1)}\``)
  report({
    code: 'array-items',
    path: [...path, 'type'],
    message: `${subject} does not say what it holds, which some model providers refuse`,
    hint: 'Add `items`, such as `items: {type: string}`',
  })
}

/** Contradicting keywords of one schema. */
export function checkDisagreement(schema: JsonObject, path: Path, report: Reporter) {
  const { enum: allowed, const: only, default: value, nullable } = schema
  const types = [schema.type ?? []].flat().filter((type) => typeof type === 'string')
  const typed = (value: Json) =>
    types.length === 0 || types.some((type) => isOf(value, type)) || (value === null && nullable === true)
  const wanted = () => types.map((type) => quote(type)).join(' or ')
  const disagree = (at: Path, message: string, hint: string) =>
    report({ code: 'schema-disagreement', path: [...path, ...at], message, hint })

  const values = Array.isArray(allowed) ? allowed : undefined
  for (const [i, value] of (values ?? []).entries())
    if (!typed(value))
      disagree(
        ['enum', i],
        `\`enum\` allows ${text(value)}, but \`type\` only ${wanted()}`,
        'Make the two agree',
      )
  if (only !== undefined && !typed(only))
    disagree(
      ['const'],
      `\`const\` is ${text(only)}, but \`type\` allows only ${wanted()}`,
      'Make the two agree',
    )
  if (value === undefined) return
  if (!typed(value))
    disagree(
      ['default'],
      `the default ${text(value)} is not of the type ${wanted()}`,
      'Write a default of that type',
    )
  else if (values && !values.some((one) => isDeepStrictEqual(one, value))) {
    const some = values.slice(0, 8).map(text).join(', ')
    disagree(
      ['default'],
      `the default ${text(value)} is none of the values of \`enum\``,
      `Write one of ${some}, or remove it`,
    )
  }
}

function text(value: Json): string {
  return quote(typeof value === 'string' ? value : stringify(value))
}

const isNumber = (value: Json) =>
  typeof value === 'number' || typeof value === 'bigint' || value instanceof ExactNumber
const TYPES: Record<string, (value: Json) => boolean> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  number: isNumber,
  integer: (value) => isNumber(value) && (typeof value !== 'number' || Number.isInteger(value)),
  array: Array.isArray,
  object: isObject,
}

/** Unknown types are reported by the schema check. */
function isOf(value: Json, type: string): boolean {
  return TYPES[type]?.(value) ?? true
}
