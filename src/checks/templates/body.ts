import type { JsonObject } from '../../json/index.ts'
import { isObject } from '../../json/index.ts'
import type { Args } from '../subjects.ts'
import type { Report } from './names.ts'
import { field } from './names.ts'
import { type Print, pathKey } from './walk.ts'

/** Judges a value printed in a JSON body by the declared type of its argument. */
export function checkValue(print: Print, args: Args, report: Report): void {
  const { ref, inString, toJson, before, after } = print
  checkMade(print, args, report)
  if (ref?.path[0] !== 'Args' || ref.path.length < 2) return
  const schema = schemaAt(args, ref.path)
  if (!schema) return
  const { type } = schema
  const written =
    field('.Args', ref.path[1]!) +
    ref.path
      .slice(2)
      .map((name) => `.${name}`)
      .join('')
  const value = ref.path.includes('*') ? 'the item' : `\`${written}\``
  const whole = before === '"' && after === '"'
  if (inString) {
    if (type === 'string' && toJson) {
      const hint = ref.path.includes('*')
        ? 'Remove the quotes, or `toJSON`'
        : `Write \`"{{${written}}}"\`, or remove the quotes around it`
      report(
        'template-quotes',
        print,
        `${value} comes with quotes of its own from \`toJSON\`, inside of a JSON string`,
        hint,
      )
    } else if (whole && (type === 'object' || type === 'array')) {
      const message = `${value} is an ${type}, which becomes text inside of quotes`
      report('template-object', print, message, 'Remove the quotes around it')
    }
    return
  }
  if (type === 'array' && before === '[' && after === ']' && !isListOfLists(schema)) {
    const message = `${value} is an array, and stands in brackets of its own: an array of one array`
    report('template-array', print, message, `Write \`{{toJSON ${written}}}\` without the brackets`)
    return
  }
  if (before === "'" && after === "'") {
    const message = `${value} stands in single quotes, which JSON does not have`
    report('template-quotes', print, message, `Write \`"{{${written}}}"\``, { severity: 'error' })
    return
  }
  if (type === 'string' && !toJson && !schema.enum && before !== '"') {
    const message = `${value} is a string without quotes: a text such as \`5\` or \`true\` changes its type`
    report('template-quotes', print, message, 'Put double quotes around it, or write `toJSON` before it')
  }
  checkOptional(print, args, written, report)
}

/** What a function makes of an argument: quotes inside of quotes, and arrays written by hand. */
function checkMade(
  { made, of, inString, before, after, start, end }: Print,
  args: Args,
  report: Report,
): void {
  if (made === undefined) return
  const name = made.split(' ')[0]!
  if (inString && (name === 'quote' || /^printf %#?q$/.test(made))) {
    const message = `\`${made.replace(/ (.*)/, ' "$1"')}\` puts quotes around the text, inside of a JSON string`
    const hint = `Remove \`${name === 'quote' ? 'quote' : made.replace(/ (.*)/, ' "$1"')}\`, or the quotes around it`
    report('template-quotes', { start, end }, message, hint)
    return
  }
  if (name !== 'join' || before !== '[' || after !== ']' || of?.path[0] !== 'Args') return
  if (of.path.includes('*') || schemaAt(args, of.path)?.type !== 'array') return
  const message = 'a joined text is one item of the array, not several'
  const [, first, ...rest] = of.path
  const value = [field('.Args', first!), ...rest].join('.')
  report('template-array', { start, end }, message, `Write \`{{toJSON ${value}}}\` without the brackets`)
}

function isListOfLists({ items }: JsonObject): boolean {
  return isObject(items) && items.type === 'array'
}

function checkOptional(
  { ref, toJson, guards, start, end }: Print,
  args: Args,
  written: string,
  report: Report,
): void {
  const [, name] = ref!.path
  // Who writes `toJSON` has thought of null; nested values are optional more often than not.
  if (toJson || ref!.path.length !== 2 || args.always.has(name!)) return
  if (guards.has(pathKey(ref!.path))) return
  const message = `\`${written}\` is optional and has no default: \`null\` is sent when a call leaves it out`
  report(
    'template-optional',
    { start, end },
    message,
    'Give it a default, make it required, or put the member into `{{if …}}`',
  )
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
