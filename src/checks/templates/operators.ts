import type { Span } from '../../template/index.ts'
import { prefixed } from './infix.ts'
import { field } from './known-names.ts'

/** Something of another language in an action. */
export interface Foreign {
  at: Span
  message: string
  /** What to write instead, where that is known: template code, or an advice. */
  code?: string
  advice?: string
}

interface Operator extends Foreign {
  /** The function that is meant. */
  name?: string | undefined
  /** It is an index in brackets. */
  brackets?: boolean
}

/** The hint of a finding. */
export function hintOf({ code, advice }: Pick<Foreign, 'code' | 'advice'>): string {
  return code === undefined ? advice! : `Write ${code}`
}

/** An operand beside an operator: a path, number or string. */
const LEFT = /(?:"[^"\n]{0,200}"|[.$]?[\w.]{1,200})$/
const RIGHT = /^(?:"[^"\n]*"|'[^'\n]*'|[.$]?[\w.]+)/

interface Rule {
  pattern: RegExp
  /** The function to write before both operands. */
  name?: string
  advice?: string
  /** What to write, from the text before and behind it. */
  code?: (whole: string, before: string, after: string) => string | undefined
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
  { pattern: /=>/, advice: 'There are no functions of your own; use `define` and `template`' },
  { pattern: /<=/, name: 'le' },
  { pattern: />=/, name: 'ge' },
  { pattern: /</, name: 'lt' },
  { pattern: />/, name: 'gt' },
  {
    pattern: /\?\./,
    code: (_whole, before, after) => {
      const start = /[.$][\w.?]{0,200}$/.exec(before)?.[0] ?? ''
      const chain = `${start}?.${/^[\w.?]*/.exec(after)![0]}`
      const [base, ...path] = chain.split('?.')
      return base ? `safeGet "${path.join('.')}" ${base}` : 'safeGet "a.b" .Args.x'
    },
  },
  { pattern: /\?/, code: () => '{{if a}}b{{else}}c{{end}}' },
  { pattern: /!/, name: 'not' },
  { pattern: /(?<=[\w)"\]]\s{0,20})\+(?=\s{0,20}[\w.$("])/, name: 'add' },
  { pattern: /(?<=[\w)"\]]\s{1,20})-(?=\s{1,20}[\w.$("])|(?<=\w)-(?=[\w.$(])/, name: 'sub' },
  { pattern: /\*/, name: 'mul' },
  { pattern: /(?<!\{\{-?\s{0,20})\/(?!\*)/, name: 'div' },
  { pattern: /%/, name: 'mod' },
  { pattern: /(?<!\$\w*\s*(?:,\s*\$\w+\s*)?:?)=/, name: 'eq' },
  {
    pattern: /(?<=\{\{-?\s{0,20})[#/]\w*/,
    advice: 'Blocks are `{{if …}}`, `{{range …}}` and `{{with …}}`, closed by `{{end}}`',
    code: (whole, _before, after) => {
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
    advice: 'Arguments are separated by spaces: `printf "%s" .Args.x`',
    code: (_whole, before, after) => {
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
 * @param masked the action with blanks for quoted text; offsets of the result are into it
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
  found.sort((a, b) => a.at.start - b.at.start)
  const whole = wholeAction(text)
  if (whole) return found.map((one) => (one.code === undefined ? one : { ...one, code: whole }))
  return found.length > 1 ? found.map(withParentheses) : found
}

const ACTION = /^\{\{-?\s*((?:else\s+)?(?:if|with|range)\b|\$\w+\s*:?=(?!=))?(.*?)\s*(?:-?\}\})?$/s

/** All of the action as Go writes it, where it can be read as operators between values. */
function wholeAction(text: string): string | undefined {
  const [, , inner = ''] = ACTION.exec(text) ?? []
  const choice = /^([^?:"'`]+)\?\s*([^?:\s]+)\s*:\s*([^?:\s]+)$/.exec(inner.trim())
  if (choice) {
    const [, test, yes, no] = choice.map((one) => doubleQuoted(one.trim())) as string[]
    return `\`{{if ${prefixed(test!) ?? test}}}{{${yes}}}{{else}}{{${no}}}{{end}}\``
  }
  const added = prefixed(inner)
  return added === undefined ? undefined : eitherSum(added, prefixed(inner, 'print')!)
}

function eitherSum(added: string, printed: string): string {
  return added === printed ? `\`${added}\`` : `\`${added}\` for numbers, \`${printed}\` for strings`
}

/** Beside other operators, what stands next to `&&` or `||` is only a part of its side. */
function withParentheses(one: Operator): Operator {
  const { name } = one
  return name === 'and' || name === 'or'
    ? { ...one, code: `\`${name} (…) (…)\`, with each side in parentheses` }
    : one
}

function operator({ name, advice, code }: Rule, whole: string, start: number, text: string): Operator {
  const end = start + whole.length
  const found = { at: { start, end }, message: `\`${whole}\` is not an operator in Go templates`, name }
  if (name === undefined) {
    const exact = code?.(whole, text.slice(0, start), text.slice(end))
    return exact ? { ...found, code: `\`${exact}\`` } : { ...found, advice: advice! }
  }
  const a = LEFT.exec(text.slice(0, start).trimEnd())?.[0] ?? 'a'
  const b = doubleQuoted(RIGHT.exec(text.slice(end).trimStart())?.[0] ?? 'b')
  if (name === 'not') return { ...found, code: `\`not ${b === 'b' ? 'a' : b}\`` }
  if (name !== 'add') return { ...found, code: `\`${name} ${a} ${b}\`` }
  const isText = a.startsWith('"') || b.startsWith('"')
  const printed = `print ${a} ${b}`
  return { ...found, code: eitherSum(isText ? printed : `add ${a} ${b}`, printed) }
}

/** A string in single quotes is one in double quotes. */
export function doubleQuoted(text: string): string {
  return text.replace(/^'(.*)'$/, '"$1"')
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
    at: { start, end: start + brackets.length },
    message: 'brackets do not index in Go templates',
    code: `\`${value}\``,
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
  // A bare word is most likely the name itself: variables begin with `$`.
  if (/^[A-Za-z_]\w*$/.test(key)) return field(base, key)
  return `index ${base} ${key || '0'}`
}
