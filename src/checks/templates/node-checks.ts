import { isObject, type JsonObject } from '../../json/index.ts'
import type { CommandNode, Operand, TextNode, Tree } from '../../template/index.ts'
import type { Args, Subject } from '../subjects.ts'
import { field } from './known-names.ts'
import { INFIX, prefixed } from './other-languages.ts'
import { argumentsRead } from './usage.ts'
import { eachNodeOf, eachPipe, type Print, pathKey, type Ref, type TemplateReporter } from './walk.ts'

/** Functions that treat a character as a number, as Go does. */
const OF_CHARACTERS = new Set(['printf', 'print', 'println'])
const COMPARISONS = new Set(['eq', 'ne', 'lt', 'le', 'gt', 'ge'])

export const IN_SINGLE_QUOTES = 'a string in single quotes'

/** Checks a command anywhere, even in branches never taken. */
export function checkCommands(tree: Tree, source: string, args: Args, report: TemplateReporter) {
  eachPipe(tree, ({ commands }) => {
    for (const command of commands) {
      checkOrder(command, source, report)
      checkCharacters(command, source, args, report)
    }
  })
}

/** `.Args.x and .Args.y`: the first of several words must be a function. */
function checkOrder({ operands, start, end }: CommandNode, source: string, report: TemplateReporter) {
  const [first, second] = operands
  if (!first || !second || first.type === 'identifier' || first.type === 'nil') return
  const operator = operands.find((one) => one.type === 'identifier' && INFIX.has(one.name))
  if (operator?.type === 'identifier') {
    return report({
      code: 'template-operator',
      at: operator,
      message: `\`${operator.name}\` stands before its values, not between them`,
      hint: `Write \`${prefixed(source.slice(start, end)) ?? `${operator.name} a b`}\``,
    })
  }
  const value = source.slice(first.start, first.end)
  report({
    code: 'template-syntax',
    at: { start, end },
    message: `\`${value}\` is a value, and takes no arguments`,
    hint: `Write \`${value}\` alone, or a function before it`,
  })
}

/** `'a'` is a character code in Go. */
function checkCharacters({ operands }: CommandNode, source: string, args: Args, report: TemplateReporter) {
  const [first] = operands
  const name = first?.type === 'identifier' ? first.name : undefined
  if (name !== undefined && OF_CHARACTERS.has(name)) return
  const numbers = operands.filter((one) => one !== first && mayBeNumber(one, args))
  const withText = operands.some((one) => one !== first && isText(one, args))
  for (const one of operands) {
    if (one.type !== 'number' || source[one.start] !== "'") continue
    // Comparing an item of a string, a number or a function's result with a character may be intended.
    if (name !== undefined && COMPARISONS.has(name) && numbers.some((each) => each !== one)) continue
    const text = source.slice(one.start + 1, one.end - 1)
    const isIndex = name === 'index' && /^\d$/.test(text)
    const meant = text.startsWith('\\') ? `"${text}"` : JSON.stringify(text)
    const certain = name === 'index' || (name !== undefined && withText)
    report({
      code: 'template-operator',
      at: one,
      message: IN_SINGLE_QUOTES,
      hint: `Write \`${isIndex ? text : meant}\``,
      severity: certain ? 'error' : 'warning',
    })
  }
}

function declared(operand: Operand, args: Args): unknown {
  if (operand.type !== 'field' || operand.path[0] !== 'Args' || operand.path.length !== 2) return undefined
  return args.schemas.get(operand.path[1]!)?.type
}

function isText(operand: Operand, args: Args): boolean {
  const type = declared(operand, args)
  if (operand.type === 'field' && operand.path[0] === 'Config') return operand.path.length === 2
  return type === 'string'
}

function mayBeNumber(operand: Operand, args: Args): boolean {
  if (operand.type === 'pipe' || operand.type === 'chain' || operand.type === 'number') return true
  const type = declared(operand, args)
  return type === 'integer' || type === 'number'
}

/** Checks a value printed in a JSON body against its argument's declared type. */
export function checkValue(print: Print, args: Args, report: TemplateReporter) {
  const { ref, inString, toJson, before, after, start, end } = print
  const at = { start, end }
  checkCalledFunction(print, args, report)
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

/** Checks functions applied to an argument: quotes inside quotes, and arrays written by hand. */
function checkCalledFunction(
  { calledFunction, calledOn, inString, before, after, start, end }: Print,
  args: Args,
  report: TemplateReporter,
) {
  if (calledFunction === undefined) return
  const at = { start, end }
  const name = calledFunction.split(' ')[0]!
  if (inString && (name === 'quote' || /^printf %#?q$/.test(calledFunction))) {
    const call = calledFunction.replace(/ (.*)/, ' "$1"')
    report({
      code: 'template-quotes',
      at,
      message: `\`${call}\` adds quotes inside a JSON string`,
      hint: `Remove \`${name === 'quote' ? 'quote' : call}\`, or the quotes around it`,
    })
    return
  }
  if (name !== 'join' || before !== '[' || after !== ']' || calledOn?.path[0] !== 'Args') return
  if (calledOn.path.includes('*') || schemaAt(args, calledOn.path)?.type !== 'array') return
  const [, first, ...rest] = calledOn.path
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

/** Authors who write `toJSON` have considered null; nested values are usually optional. */
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

/** A name in braces of other languages, or after a colon in a path; with `.` it is unambiguous. */
const IN_URL =
  /\$?\{\s*([\w-]+)\s*\}|<([\w-]+)>|(?<=\/):([A-Za-z_][\w-]*)(?=[/?#]|$)|\$?\{\s*\.?Args\.([\w-]+)\s*\}/g
const IN_TEXT = /\{\s*([\w-]+)\s*\}|\$\{\s*([\w-]+)\s*\}|\$?\{\s*\.?Args\.([\w-]+)\s*\}/g
/** Braces have their own meaning in JSON and embedded languages such as GraphQL. */
const IN_BODY = /\$\{\s*([\w-]+)\s*\}|\$?\{\s*\.?Args\.([\w-]+)\s*\}/g

/**
 * Literal text that was probably meant otherwise: placeholders of other languages for an argument, and spaces in a URL.
 */
export function checkLiteralText(
  tree: Tree,
  subject: Subject,
  refs: readonly Ref[],
  report: TemplateReporter,
): void {
  const { place, phase, args, path } = subject
  const isUrl = place === 'url'
  if (phase === 'config' || phase === 'upstream') return
  const pattern = isUrl ? IN_URL : place === 'header' || phase === 'prompt' ? IN_TEXT : IN_BODY
  const nodes: TextNode[] = []
  eachNodeOf(tree, (node) => {
    if (node.type === 'text') nodes.push(node)
  })
  for (const { text, start } of nodes) {
    for (const { index, 0: whole, ...groups } of text.matchAll(pattern)) {
      const name = Object.entries(groups).find(
        ([key, value]) => /^\d+$/.test(key) && value !== undefined,
      )?.[1]
      if (typeof name !== 'string' || !args.schemas.has(name)) continue
      // Its absence in the endpoint is already reported.
      if (isUrl && args.inPath.has(name) && !argumentsRead(refs, args).names.has(name)) continue
      report({
        code: 'template-literal',
        at: { start: start + index, end: start + index + whole.length },
        message: `\`${whole}\` is sent unchanged, although there is an argument \`${name}\``,
        hint: `Write \`{{${field('.Args', name)}}}\` instead of \`${whole}\``,
      })
    }
  }
  if (!isUrl || (path.at(-1) !== 'endpoint' && phase !== 'base')) return
  for (const { text, start } of nodes)
    for (const { index, 0: blank } of text.matchAll(/\s+|#/g)) {
      const at = start + index
      // An unparsable action, blanked.
      if (!subject.source.startsWith(blank, at)) continue
      const isEnd = subject.source.slice(0, at).trim() === '' || subject.source.slice(at).trim() === ''
      if (isEnd || /\{\{[^{}]*:?=[^{}]*\}\}$/.test(subject.source.slice(Math.max(0, at - 200), at))) continue
      const isFragment = blank === '#'
      const inside = blank.includes('\n') ? 'a line break inside the URL' : 'a space inside the URL'
      report({
        code: 'template-literal',
        at: { start: at, end: at + blank.length },
        message: isFragment ? 'the URL from its `#` on is not sent' : inside,
        hint: `Remove it, or write \`${isFragment ? '%23' : '%20'}\``,
      })
    }
}
