import type { Span } from '../../template/index.ts'
import { prefixed } from './infix.ts'
import { field } from './names.ts'

export interface Operator {
  span: Span
  message: string
  hint: string
  /** It is an index in brackets. */
  brackets?: boolean
}

/** An operand beside an operator: a path, number or text. */
const LEFT = /(?:"[^"\n]{0,200}"|[.$]?[\w.]{1,200})$/
const RIGHT = /^(?:"[^"\n]*"|'[^'\n]*'|[.$]?[\w.]+)/

interface Rule {
  pattern: RegExp
  /** The function to write before both operands. */
  name?: string
  hint?: string
  /** What to write, from the text before and behind it. */
  cure?: (whole: string, before: string, after: string) => string | undefined
}

const index = /[.$][\w.]{0,200}(\[[^[\]]*\]?)(?:\[[^[\]]*\]|\.[A-Za-z_]\w*)*/
const SEGMENT = /\[([^[\]]*)\]?|\.(\w+)/g
const RULES: readonly Rule[] = [
  { pattern: index },
  { pattern: /===?/, name: 'eq' },
  { pattern: /!==?/, name: 'ne' },
  { pattern: /&&/, name: 'and' },
  { pattern: /\|\|/, name: 'or' },
  { pattern: /\?\?/, name: 'or' },
  { pattern: /=>/, hint: 'There are no functions of your own; use `define` and `template`' },
  { pattern: /<=/, name: 'le' },
  { pattern: />=/, name: 'ge' },
  { pattern: /</, name: 'lt' },
  { pattern: />/, name: 'gt' },
  {
    pattern: /\?\./,
    hint: 'Write `safeGet "a.b" .Args.x`: nothing where the path ends early',
    cure: (_whole, before, after) => {
      const start = /[.$][\w.?]{0,200}$/.exec(before)?.[0] ?? ''
      const chain = `${start}?.${/^[\w.?]*/.exec(after)![0]}`
      const [base, ...path] = chain.split('?.')
      return base && `safeGet "${path.join('.')}" ${base}`
    },
  },
  { pattern: /\?/, hint: 'Write `{{if a}}b{{else}}c{{end}}`' },
  { pattern: /!/, name: 'not' },
  { pattern: /(?<=[\w)"\]]\s{0,20})\+(?=\s{0,20}[\w.$("])/, name: 'add' },
  { pattern: /(?<=[\w)"\]]\s{1,20})-(?=\s{1,20}[\w.$("])|(?<=\w)-(?=[\w.$(])/, name: 'sub' },
  { pattern: /\*/, name: 'mul' },
  { pattern: /(?<!\{\{-?\s{0,20})\/(?!\*)/, name: 'div' },
  { pattern: /%/, name: 'mod' },
  { pattern: /(?<!\$\w*\s*(?:,\s*\$\w+\s*)?:?)=/, name: 'eq' },
  {
    pattern: /(?<=\{\{-?\s{0,20})[#/]\w*/,
    hint: 'Blocks are `{{if …}}`, `{{range …}}` and `{{with …}}`, closed by `{{end}}`',
    cure: (whole, _before, after) => {
      if (whole.startsWith('/')) return '{{end}}'
      const word = { '#if': 'if', '#with': 'with', '#each': 'range', '#unless': 'if not', '#for': 'range' }[
        whole
      ]
      const value = /^\s*([.$][\w.]*)\s*-?\}\}/.exec(after)?.[1]
      return word && value && `{{${word} ${value}}}`
    },
  },
  {
    pattern: /,(?!\s*\$\w+\s*:?=)/,
    hint: 'Arguments are separated by spaces: `printf "%s" .Args.x`',
    cure: (_whole, before, after) => {
      const called = /\{\{-?\s*(?:(?:else\s+)?(?:if|with|range)\s+)?([A-Za-z]\w*\s[^(|{}]*)$/.exec(
        before,
      )?.[1]
      const rest = /^[^(|{}]*?(?=\s{0,20}-?\}\})/.exec(after)?.[0]
      return called && rest !== undefined
        ? `${called}${rest}`.replace(/,/g, ' ').replace(/\s+/g, ' ').trim()
        : undefined
    },
  },
]

/**
 * Finds operators of other languages.
 * @param masked the action with blanks for what stands in quotes; offsets of the result are into it
 * @param text the action as it is, for the hint
 */
export function findOperators(masked: string, text: string): Operator[] {
  const found: Operator[] = []
  let left = masked
  for (const rule of RULES) {
    const pattern = new RegExp(rule.pattern.source, 'g')
    left = left.replace(pattern, (whole: string, ...rest: unknown[]) => {
      const at = rest.find((each): each is number => typeof each === 'number')!
      found.push(
        rule.pattern === index
          ? indexing(whole, rest[0] as string, at, text)
          : operator(rule, whole, at, text),
      )
      return ' '.repeat(whole.length)
    })
  }
  found.sort((a, b) => a.span.start - b.span.start)
  const whole = wholeCure(text)
  if (whole) return found.map((one) => (one.hint.startsWith('Write `') ? { ...one, hint: whole } : one))
  return found.length > 1 ? found.map(withParentheses) : found
}

const ACTION = /^\{\{-?\s*((?:else\s+)?(?:if|with|range)\b|\$\w+\s*:?=(?!=))?(.*?)\s*(?:-?\}\})?$/s

/** All of the action as Go writes it, where it can be read as operators between values. */
function wholeCure(text: string): string | undefined {
  const [, , inner = ''] = ACTION.exec(text) ?? []
  const choice = /^([^?:"'`]+)\?\s*([^?:\s]+)\s*:\s*([^?:\s]+)$/.exec(inner.trim())
  if (choice) {
    const [, test, yes, no] = choice.map((one) => one.trim().replace(/^'(.*)'$/, '"$1"')) as string[]
    return `Write \`{{if ${prefixed(test!) ?? test}}}{{${yes}}}{{else}}{{${no}}}{{end}}\``
  }
  const added = prefixed(inner)
  if (added === undefined) return undefined
  const printed = prefixed(inner, 'print')
  return added === printed ? `Write \`${added}\`` : `Write \`${added}\` for numbers, \`${printed}\` for texts`
}

/** Beside other operators, what stands next to `&&` or `||` is only a part of its side. */
function withParentheses(one: Operator): Operator {
  const name = /^Write `(and|or) /.exec(one.hint)?.[1]
  return name ? { ...one, hint: `Write \`${name} (…) (…)\`, with each side in parentheses` } : one
}

function operator({ name, hint, cure }: Rule, whole: string, at: number, text: string): Operator {
  const span = { start: at, end: at + whole.length }
  const message = `\`${whole}\` is no operator of Go’s templates`
  if (name === undefined) {
    const exact = cure?.(whole, text.slice(0, at), text.slice(span.end))
    return { span, message, hint: exact ? `Write \`${exact}\`` : hint! }
  }
  const a = LEFT.exec(text.slice(0, at).trimEnd())?.[0] ?? 'a'
  const b = (RIGHT.exec(text.slice(span.end).trimStart())?.[0] ?? 'b').replace(/^'(.*)'$/, '"$1"')
  if (name === 'not') return { span, message, hint: `Write \`not ${b === 'b' ? 'a' : b}\`` }
  const isText = a.startsWith('"') || b.startsWith('"')
  if (name === 'add') {
    const cure = isText
      ? `\`print ${a} ${b}\``
      : `\`add ${a} ${b}\` for numbers, \`print ${a} ${b}\` for texts`
    return { span, message, hint: `Write ${cure}` }
  }
  return { span, message, hint: `Write \`${name} ${a} ${b}\`` }
}

/** `.Args.items[0].name`: a name becomes a field, anything else a key of `index`. */
function indexing(whole: string, brackets: string, at: number, text: string): Operator {
  const target = whole.slice(0, whole.indexOf('[')).replace(/\.$/, '')
  const start = at + whole.indexOf('[')
  const segments = text.slice(start, at + whole.length).matchAll(SEGMENT)
  let value = target === '' ? '.' : target
  for (const [, key, name] of segments)
    value = name === undefined ? keyed(value, key!.trim()) : member(value, name)
  return {
    span: { start, end: start + brackets.length },
    message: 'brackets do not index in Go’s templates',
    hint: `Write \`${value}\``,
    brackets: true,
  }
}

function member(value: string, name: string): string {
  return value.startsWith('index ') ? `(${value}).${name}` : `${value}.${name}`
}

function keyed(value: string, key: string): string {
  const name = /^(["'])([^"'\\]*)\1$/.exec(key)?.[2]
  const base = value.startsWith('index ') ? `(${value})` : value
  if (name !== undefined) return field(base, name)
  // What stands bare is most likely the name itself: variables begin with `$`.
  if (/^[A-Za-z_]\w*$/.test(key)) return field(base, key)
  return `index ${base} ${key || '0'}`
}
