import type { Arg, Tool } from '../../config/index.ts'
import { eachSchema } from '../../config/json-schema/check-schema.ts'
import type { Path, Reporter } from '../../findings/index.ts'
import { isObject } from '../../json/index.ts'
import { quote } from '../../text/index.ts'
import type { Check, Context } from '../check.ts'
import { checkDisagreement, checkItems, checkSchema } from './schemas.ts'

/** Checks of what models learn about tools and arguments. */
export const TOOL_CHECKS: readonly Check[] = [
  { codes: ['missing-description', 'long-description'], on: 'tool', check: checkDescriptions },
  {
    codes: ['required-default'],
    on: 'tool',
    check({ args, inputSchema }, report) {
      // Database exports write an empty default for none.
      for (const [j, { name, required, default: value }] of args.entries())
        if (required && value !== undefined && value !== '')
          requiredDefault(name, ['args', j, 'default'], 'Write `required: false`', report)
      const { properties, required } = inputSchema ?? {}
      if (!isObject(properties) || !Array.isArray(required)) return
      for (const [name, property] of Object.entries(properties))
        if (required.includes(name) && isObject(property) && property.default !== undefined)
          requiredDefault(
            name,
            ['inputSchema', 'properties', name, 'default'],
            'Remove it from `required`',
            report,
          )
    },
  },
  {
    codes: ['array-items', 'schema-top-level', 'schema-dialect', 'schema-disagreement'],
    on: 'tool',
    check({ inputSchema, outputSchema }, report) {
      if (inputSchema) checkSchema(inputSchema, ['inputSchema'], report)
      if (outputSchema) checkSchema(outputSchema, ['outputSchema'], report)
    },
  },
  {
    codes: ['array-items', 'schema-disagreement'],
    on: 'arg',
    check({ name, type, items, properties = {} }, report) {
      if (type === 'array')
        checkItems({ type, ...(items && { items }) }, [], report, `the array ${quote(name)}`)
      eachSchema({ ...(items && { items }), properties }, [], (schema, path) => {
        if (path.length === 0) return
        checkItems(schema, path, report)
        checkDisagreement(schema, path, report)
      })
    },
  },
]

function checkDescriptions(
  { name, description, args, inputSchema }: Tool,
  report: Reporter,
  { options: { descriptionLength = 1024 } }: Context,
) {
  const isLong = (text = '') => text.length > descriptionLength
  const reportLength = (text: string, path: Path, of: string) =>
    report({
      code: 'long-description',
      path,
      message: `the description of ${of} has ${text.length} characters, more than ${descriptionLength}`,
      hint: 'Keep what decides whether and how it is used',
    })
  if (!description?.trim())
    report({
      code: 'missing-description',
      path: ['name'],
      message: `the tool ${quote(name)} has no description`,
      hint: 'Say in a sentence what it does: a model chooses it by that',
    })
  if (isLong(description)) reportLength(description!, ['description'], `the tool ${quote(name)}`)
  for (const [j, arg] of args.entries())
    if (isLong(arg.description))
      reportLength(arg.description!, ['args', j, 'description'], `the argument ${quote(arg.name)}`)
  // With an `inputSchema`, clients see that one.
  const shown = isObject(inputSchema?.properties) ? inputSchema.properties : {}
  const descriptionOf = ({ name, description }: Arg) => {
    const own = Object.hasOwn(shown, name) ? shown[name] : undefined
    return isObject(own) && typeof own.description === 'string' ? own.description : description
  }
  const bare = args.filter((arg) => !descriptionOf(arg)?.trim())
  if (bare.length === 0) return
  const names = bare.slice(0, 5).map((arg) => quote(arg.name))
  const more = bare.length > 5 ? ` and ${bare.length - 5} more` : ''
  const [noun, verb] = bare.length === 1 ? ['argument', 'has'] : ['arguments', 'have']
  report({
    code: 'missing-description',
    path: ['args', args.indexOf(bare[0]!), 'name'],
    message: `the ${noun} ${names.join(', ')}${more} of ${quote(name)} ${verb} no description`,
    hint: 'Say what a value means, and its form',
    severity: 'info',
  })
}

function requiredDefault(name: string, path: Path, instead: string, report: Reporter) {
  report({
    code: 'required-default',
    path,
    message: `the argument ${quote(name)} is required, so clients never leave it to its default`,
    hint: `${instead}, or remove the default`,
  })
}
