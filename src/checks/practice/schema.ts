import type { Path } from '../../config/index.ts'
import type { Json, JsonObject } from '../../json/index.ts'
import { isObject } from '../../json/index.ts'
import { checkDisagreement } from './disagree.ts'
import type { Advise } from './report.ts'

const TOP_LEVEL = ['oneOf', 'anyOf', 'allOf', 'not', 'enum', '$ref']

/** Keywords of older drafts and of OpenAPI 3.0, and what 2020-12 has for them. */
const OTHER_DIALECTS: Record<string, string> = {
  nullable: 'Write `type: [string, "null"]`, with the type that is meant',
  additionalItems: 'Write `prefixItems` for the first items, and `items` for the others',
  dependencies: 'Write `dependentRequired` or `dependentSchemas`',
  discriminator: 'Remove it: a `const` in each of the alternatives tells them apart',
  $recursiveRef: 'Write `$dynamicRef`, or `$ref: "#"`',
  divisibleBy: 'Write `multipleOf`',
}

/** Keywords whose value maps names to schemas. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
/** Keywords whose value is no schema. */
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'required'])

/** What model providers refuse of a tool's `inputSchema`, and what no reader of 2020-12 heeds. */
export function checkSchema(schema: JsonObject, path: Path, advise: Advise, isInput: boolean) {
  if (isInput)
    for (const keyword of TOP_LEVEL.filter((key) => Object.hasOwn(schema, key))) {
      const message = `\`${keyword}\` at the top of \`inputSchema\`, which model providers refuse`
      advise(
        'schema-top-level',
        [...path, keyword],
        message,
        'Move it into a property, or make a tool of each case',
      )
    }
  visit(schema, path, (one, at) => {
    for (const [keyword, hint] of Object.entries(OTHER_DIALECTS))
      if (Object.hasOwn(one, keyword)) {
        const message = `\`${keyword}\` is no keyword of JSON Schema 2020-12, so nothing heeds it`
        advise('schema-dialect', [...at, keyword], message, hint)
      }
    if (isInput) checkItems(one, at, advise)
    checkDisagreement(one, at, advise)
  })
}

/** An array without `items`. */
export function checkItems(schema: JsonObject, path: Path, advise: Advise) {
  if (schema.type !== 'array' || schema.prefixItems !== undefined || schema.contains !== undefined) return
  if (schema.items !== undefined && !(isObject(schema.items) && Object.keys(schema.items).length === 0))
    return
  const name = path.at(-1) === 'items' ? 'an inner array' : `the array \`${String(path.at(-1))}\``
  const message = `${name} does not say what it holds, and some model providers refuse it`
  advise('array-items', [...path, 'type'], message, 'Add `items`, such as `items: {type: string}`')
}

/** Calls for a schema and each schema in it, at any depth. */
export function visit(schema: Json | undefined, path: Path, look: (schema: JsonObject, path: Path) => void) {
  if (Array.isArray(schema)) for (const [i, one] of schema.entries()) visit(one, [...path, i], look)
  if (!isObject(schema)) return
  look(schema, path)
  for (const [keyword, value] of Object.entries(schema)) {
    if (VALUES.has(keyword)) continue
    if (!MAPS.has(keyword)) visit(value, [...path, keyword], look)
    else if (isObject(value))
      for (const [name, one] of Object.entries(value)) visit(one, [...path, keyword, name], look)
  }
}
