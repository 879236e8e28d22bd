import { isDeepStrictEqual } from 'node:util'
import type { Arg, Configuration, Tool } from '../../config/index.ts'
import { eachSchema } from '../../config/json-schema/check-schema.ts'
import type { Path, Reporter } from '../../findings/index.ts'
import { ExactNumber, isObject, type Json, type JsonObject, stringify } from '../../json/index.ts'
import { firstOf, plural, quote } from '../../text/index.ts'
import type { Context } from '../check.ts'

export function checkDefaults({ args, inputSchema }: Tool, report: Reporter) {
  // Database exports write an empty default for none.
  for (const [j, { name, required, default: value }] of args.entries())
    if (required && value !== undefined && value !== '')
      requiredDefault(name, ['args', j, 'default'], 'Write `required: false`', report)
  const { properties, required } = inputSchema ?? {}
  if (!isObject(properties) || !Array.isArray(required)) return
  for (const [name, property] of Object.entries(properties))
    if (required.includes(name) && isObject(property) && property.default !== undefined) {
      const path = ['inputSchema', 'properties', name, 'default']
      requiredDefault(name, path, 'Remove it from `required`', report)
    }
}

export function checkSchemas({ inputSchema, outputSchema }: Tool, report: Reporter) {
  if (inputSchema) checkSchema(inputSchema, ['inputSchema'], report)
  if (outputSchema) checkSchema(outputSchema, ['outputSchema'], report)
}

export function checkArgumentSchema(
  { name, type, items, properties = {} }: Arg,
  report: Reporter,
  { configuration, path }: Context,
) {
  // Clients see the `inputSchema`.
  if (configuration.tools[Number(path[1])]?.inputSchema) return
  if (type === 'array') checkItems({ type, ...(items && { items }) }, [], report, `the array ${quote(name)}`)
  eachSchema({ ...(items && { items }), properties }, [], (schema, path) => {
    if (path.length === 0) return
    checkItems(schema, path, report)
    checkDisagreement(schema, path, report)
  })
}

/** One finding for the tools of a file, and one for their arguments. */
export function checkMissing({ tools }: Configuration, report: Reporter, { isRepaired }: Context) {
  const shown = [...tools.entries()].filter(([i]) => !isRepaired(['tools', i, 'name']))
  const bare = shown.filter(([, { description }]) => !description?.trim())
  const [first] = bare
  if (first)
    report({
      code: 'missing-description',
      path: ['tools', first[0], 'name'],
      message:
        bare.length === 1
          ? `the tool ${quote(first[1].name)} has no description`
          : `${bare.length} tools have no description: ${firstOf(bare.map(([, { name }]) => quote(name))).join(', ')}`,
      hint: 'Say in a sentence what it does: a model chooses it by that',
    })
  const args = shown.flatMap(([i, tool]) => {
    const bare = tool.args.filter((arg) => arg.const === undefined && !describes(tool, arg))
    const [first] = bare
    return first ? [{ path: ['tools', i, 'args', tool.args.indexOf(first), 'name'], bare, tool }] : []
  })
  const count = args.reduce((sum, { bare }) => sum + bare.length, 0)
  if (count === 0) return
  const names = args.map(
    ({ bare, tool }) => `${firstOf(bare.map(({ name }) => quote(name))).join(', ')} of ${quote(tool.name)}`,
  )
  const [one] = args.length === 1 ? names : []
  report({
    code: 'missing-description',
    path: args[0]!.path,
    message:
      one === undefined
        ? `${count} arguments of ${args.length} tools have no description: ${firstOf(names).join('; ')}`
        : `the ${plural(count, 'argument')} ${one} ${plural(count, 'has', 'have')} no description`,
    hint: 'Say what a value means, and its form',
    severity: 'info',
  })
}

/** With an `inputSchema`, clients see that one. */
function describes({ inputSchema }: Tool, { name, description }: Arg): boolean {
  const shown = isObject(inputSchema?.properties) ? inputSchema.properties : {}
  const own = Object.hasOwn(shown, name) ? shown[name] : undefined
  const text = isObject(own) && typeof own.description === 'string' ? own.description : description
  return Boolean(text?.trim())
}

export function checkLengths(
  { name, description, args }: Tool,
  report: Reporter,
  { options: { descriptionLength = 1024 } }: Context,
) {
  const check = (text: string | undefined, path: Path, owner: string) => {
    if ((text?.length ?? 0) > descriptionLength)
      report({
        code: 'long-description',
        path,
        message: `the description of ${owner} has ${text!.length} characters, more than ${descriptionLength}`,
        hint: 'Keep what decides whether and how it is used',
      })
  }
  check(description, ['description'], `the tool ${quote(name)}`)
  for (const [j, arg] of args.entries())
    check(arg.description, ['args', j, 'description'], `the argument ${quote(arg.name)}`)
}

function requiredDefault(name: string, path: Path, instead: string, report: Reporter) {
  report({
    code: 'required-default',
    path,
    message: `the argument ${quote(name)} is required, so clients never leave it to its default`,
    hint: `${instead}, or remove the default`,
  })
}

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
function checkSchema(schema: JsonObject, path: Path, report: Reporter) {
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
function checkItems(schema: JsonObject, path: Path, report: Reporter, name?: string) {
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
function checkDisagreement(schema: JsonObject, path: Path, report: Reporter) {
  const { enum: allowed, const: only, default: value, nullable } = schema
  const types = [schema.type ?? []].flat().filter((type) => typeof type === 'string')
  const typed = (value: Json) =>
    types.length === 0 || types.some((type) => hasType(value, type)) || (value === null && nullable === true)
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

const isJsonNumber = (value: Json) =>
  typeof value === 'number' || typeof value === 'bigint' || value instanceof ExactNumber
const TYPES: Record<string, (value: Json) => boolean> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  number: isJsonNumber,
  integer: (value) => isJsonNumber(value) && (typeof value !== 'number' || Number.isInteger(value)),
  array: Array.isArray,
  object: isObject,
}

/** Unknown types are reported by the schema check. */
function hasType(value: Json, type: string): boolean {
  return TYPES[type]?.(value) ?? true
}
