import { isObject, type JsonObject } from '../../json/index.ts'
import type { Args } from '../subjects.ts'
import { field } from './known-names.ts'
import type { TemplateReporter } from './report.ts'
import { type Print, pathKey } from './walk.ts'

/** Judges a value printed in a JSON body by the declared type of its argument. */
export function checkValue(print: Print, args: Args, report: TemplateReporter) {
  const { ref, inString, toJson, before, after, start, end } = print
  const at = { start, end }
  checkMade(print, args, report)
  if (ref?.path[0] !== 'Args' || ref.path.length < 2) return
  const schema = schemaAt(args, ref.path)
  if (!schema) return
  const { type } = schema
  const isItem = ref.path.includes('*')
  const written = [field('.Args', ref.path[1]!), ...ref.path.slice(2)].join('.')
  const value = isItem ? 'the item' : `\`${written}\``
  if (inString) {
    if (type === 'string' && toJson)
      report({
        code: 'template-quotes',
        at,
        message: `${value} gets quotes from \`toJSON\`, inside a JSON string`,
        hint: isItem
          ? 'Remove the quotes, or `toJSON`'
          : `Write \`"{{${written}}}"\`, or remove the quotes around it`,
      })
    else if (before === '"' && after === '"' && (type === 'object' || type === 'array'))
      report({
        code: 'template-object',
        at,
        message: `${value} is an ${type}, which becomes a string inside quotes`,
        hint: 'Remove the quotes around it',
      })
  } else if (type === 'array' && before === '[' && after === ']' && !isListOfLists(schema))
    report({
      code: 'template-array',
      at,
      message: `${value} is an array, and stands in brackets of its own: an array of one array`,
      hint: `Write \`{{toJSON ${written}}}\` without the brackets`,
    })
  else if (before === "'" && after === "'")
    report({
      code: 'template-quotes',
      at,
      message: `${value} stands in single quotes, which JSON does not have`,
      hint: `Write \`"{{${written}}}"\``,
      severity: 'error',
    })
  else {
    if (type === 'string' && !toJson && !schema.enum && before !== '"')
      report({
        code: 'template-quotes',
        at,
        message: `${value} is a string without quotes: a value such as \`5\` or \`true\` changes its type`,
        hint: 'Put double quotes around it, or write `toJSON` before it',
      })
    checkOptional(print, args, written, report)
  }
}

/** What a function makes of an argument: quotes inside quotes, and arrays written by hand. */
function checkMade(
  { made, of, inString, before, after, start, end }: Print,
  args: Args,
  report: TemplateReporter,
) {
  if (made === undefined) return
  const at = { start, end }
  const name = made.split(' ')[0]!
  if (inString && (name === 'quote' || /^printf %#?q$/.test(made))) {
    const call = made.replace(/ (.*)/, ' "$1"')
    report({
      code: 'template-quotes',
      at,
      message: `\`${call}\` adds quotes inside a JSON string`,
      hint: `Remove \`${name === 'quote' ? 'quote' : call}\`, or the quotes around it`,
    })
    return
  }
  if (name !== 'join' || before !== '[' || after !== ']' || of?.path[0] !== 'Args') return
  if (of.path.includes('*') || schemaAt(args, of.path)?.type !== 'array') return
  const [, first, ...rest] = of.path
  report({
    code: 'template-array',
    at,
    message: 'a joined string is one item of the array, not several',
    hint: `Write \`{{toJSON ${[field('.Args', first!), ...rest].join('.')}}}\` without the brackets`,
  })
}

function isListOfLists({ items }: JsonObject): boolean {
  return isObject(items) && items.type === 'array'
}

/** Authors who write `toJSON` have thought of null; nested values are optional more often than not. */
function checkOptional(print: Print, args: Args, written: string, report: TemplateReporter) {
  const { ref, toJson, guards, start, end } = print
  const { path } = ref!
  if (toJson || path.length !== 2 || args.always.has(path[1]!) || guards.has(pathKey(path))) return
  report({
    code: 'template-optional',
    at: { start, end },
    message: `\`${written}\` is optional and has no default: a call without it sends \`null\``,
    hint: 'Give it a default, make it required, or put the member into `{{if …}}`',
  })
}

export function schemaAt({ schemas }: Args, path: readonly string[]): JsonObject | undefined {
  let at: JsonObject | undefined = schemas.get(path[1]!)
  for (const name of path.slice(2)) {
    const next: unknown =
      name === '*' ? at?.items : isObject(at?.properties) ? at.properties[name] : undefined
    if (!isObject(next)) return undefined
    at = next
  }
  return at
}
