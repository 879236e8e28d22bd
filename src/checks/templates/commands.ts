import type { CommandNode, Operand, Tree } from '../../template/index.ts'
import type { Args } from '../subjects.ts'
import { INFIX, prefixed } from './infix.ts'
import { eachPipe } from './nodes.ts'
import type { TemplateReporter } from './report.ts'

/** Functions for which a character is a number, as it is in Go. */
const OF_CHARACTERS = new Set(['printf', 'print', 'println'])
const COMPARISONS = new Set(['eq', 'ne', 'lt', 'le', 'gt', 'ge'])

export const IN_SINGLE_QUOTES = 'a string in single quotes'

/** What is wrong with a command wherever it stands, also in a branch that is never taken. */
export function checkCommands(tree: Tree, source: string, args: Args, report: TemplateReporter) {
  eachPipe(tree, ({ commands }) => {
    for (const command of commands) {
      checkOrder(command, source, report)
      checkCharacters(command, source, args, report)
    }
  })
}

/** `.Args.x and .Args.y`: the first word of a command with several is a function, or it fails. */
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

/** `'a'` is Go's number of a character. */
function checkCharacters({ operands }: CommandNode, source: string, args: Args, report: TemplateReporter) {
  const [first] = operands
  const name = first?.type === 'identifier' ? first.name : undefined
  if (name !== undefined && OF_CHARACTERS.has(name)) return
  const numbers = operands.filter((one) => one !== first && mayBeNumber(one, args))
  const withText = operands.some((one) => one !== first && isText(one, args))
  for (const one of operands) {
    if (one.type !== 'number' || source[one.start] !== "'") continue
    // An item of a string, a number and what a function gives may well be compared with a character.
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
