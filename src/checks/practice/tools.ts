import type { Arg, Configuration, Path, Tool } from '../../config/index.ts'
import type { JsonObject } from '../../json/index.ts'
import { isObject } from '../../json/index.ts'
import { quote } from '../../text/index.ts'
import { checkDisagreement } from './disagree.ts'
import type { Advise } from './report.ts'
import { checkItems, checkSchema, visit } from './schema.ts'

/** What a model is told of tools and their arguments. */
export function checkTools({ tools }: Configuration, advise: Advise, longest: number) {
  for (const [i, tool] of tools.entries()) {
    const path: Path = ['tools', i]
    checkDescriptions(tool, path, advise, longest)
    for (const [j, arg] of tool.args.entries()) checkArg(arg, [...path, 'args', j], advise)
    if (tool.inputSchema) {
      checkSchema(tool.inputSchema, [...path, 'inputSchema'], advise, true)
      checkRequired(tool.inputSchema, [...path, 'inputSchema'], advise)
    }
    if (tool.outputSchema) checkSchema(tool.outputSchema, [...path, 'outputSchema'], advise, false)
  }
}

function checkDescriptions(tool: Tool, path: Path, advise: Advise, longest: number) {
  const { name, description, args, inputSchema } = tool
  const long = (text: string | undefined, at: Path, of: string) => {
    if (text === undefined || text.length <= longest) return
    const message = `the description of ${of} has ${text.length} characters, more than ${longest}`
    advise('long-description', at, message, 'Keep what decides whether and how it is used')
  }
  if (!description?.trim())
    advise(
      'missing-description',
      [...path, 'name'],
      `the tool ${quote(name)} has no description`,
      'Say in a sentence what it does: a model chooses it by that',
    )
  long(description, [...path, 'description'], `the tool ${quote(name)}`)
  // Where there is an `inputSchema`, clients see that.
  const shown = isObject(inputSchema?.properties) ? inputSchema.properties : {}
  const said = ({ name, description }: Arg) => {
    const own = Object.hasOwn(shown, name) ? shown[name] : undefined
    return isObject(own) && typeof own.description === 'string' ? own.description : description
  }
  const bare = args.filter((arg) => !said(arg)?.trim())
  if (bare.length > 0) {
    const names = bare.slice(0, 5).map((arg) => quote(arg.name))
    const more = bare.length > 5 ? ` and ${bare.length - 5} more` : ''
    const noun = bare.length === 1 ? 'the argument' : 'the arguments'
    const message = `${noun} ${names.join(', ')}${more} of ${quote(name)} ${bare.length === 1 ? 'has' : 'have'} no description`
    const at: Path = [...path, 'args', args.indexOf(bare[0]!), 'name']
    advise('missing-description', at, message, 'Say what a value means, and its form', 'info')
  }
  for (const [j, arg] of args.entries())
    long(arg.description, [...path, 'args', j, 'description'], `the argument ${quote(arg.name)}`)
}

/** As of `args`, of what the author's own schema requires. */
function checkRequired({ properties, required }: JsonObject, path: Path, advise: Advise) {
  if (!isObject(properties) || !Array.isArray(required)) return
  for (const [name, property] of Object.entries(properties))
    if (required.includes(name) && isObject(property) && property.default !== undefined)
      adviseRequired(name, [...path, 'properties', name, 'default'], 'Remove it from `required`', advise)
}

function adviseRequired(name: string, path: Path, cure: string, advise: Advise) {
  const message = `the argument ${quote(name)} is required, so clients do not leave it to its default`
  advise('required-default', path, message, `${cure}, or remove the default`)
}

function checkArg({ name, required, type, items, properties, ...arg }: Arg, path: Path, advise: Advise) {
  // A database that exports files writes an empty default for none.
  if (required && arg.default !== undefined && arg.default !== '')
    adviseRequired(name, [...path, 'default'], 'Write `required: false`', advise)
  const own: JsonObject = { type, ...(items && { items }) }
  checkItems(own, path, (code, _, message, hint) =>
    advise(code, [...path, 'type'], message.replace(/^the array `\d+`/, `the array ${quote(name)}`), hint),
  )
  const inner = (schema: JsonObject, at: Path) => {
    checkItems(schema, at, advise)
    checkDisagreement(schema, at, advise)
  }
  if (items) visit(items, [...path, 'items'], inner)
  for (const [key, one] of Object.entries(properties ?? {})) visit(one, [...path, 'properties', key], inner)
}
