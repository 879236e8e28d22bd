import type { Span } from '../../template/index.ts'
import { field } from './known-names.ts'
import OTHER from './other-languages.json' with { type: 'json' }

/** Functions by operator precedence, lowest first. */
const LEVELS: readonly (readonly string[])[] = [
  ['or'],
  ['and'],
  ['eq', 'ne', 'lt', 'le', 'gt', 'ge'],
  ['add', 'sub'],
  ['mul', 'div', 'mod'],
]
const SYMBOLS: Record<string, string> = OTHER.symbols
const TOKEN =
  /\s*("(?:[^"\\\n]|\\.)*"|`[^`]*`|'[^'\n]*'|[()]|[=!]==?|&&|\|\||\?\?|<=|>=|[<>=!+*/%]|-(?![\w.])|[-.$]?[\w$.]+)/y

/** Words used like infix operators. */
export const INFIX: ReadonlySet<string> = new Set(LEVELS.flat())

interface Part {
  text: string
  /** Needs no parentheses. */
  plain: boolean
}

/**
 * Converts a condition with infix operators to Go syntax: `.a == 1 && len .b > 2` becomes `and (eq .a 1) (gt (len .b)
 * 2)`.
 * @param plus the function for `+` without a quoted text beside it
 * @returns undefined if unreadable or without operators
 */
export function prefixed(source: string, plus: 'add' | 'print' = 'add'): string | undefined {
  const tokens = tokenize(source)
  if (!tokens?.some(isOperator)) return undefined
  let at = 0
  let depth = 0

  const operator = (): string | undefined => {
    const token = tokens[at]
    return token === undefined ? undefined : (SYMBOLS[token] ?? (INFIX.has(token) ? token : undefined))
  }
  const level = (i: number): Part | undefined => {
    const names = LEVELS[i]
    if (!names) return unary()
    let left = level(i + 1)
    for (let name = operator(); left && name !== undefined && names.includes(name); name = operator()) {
      at++
      const right = level(i + 1)
      left = right && combined(name, left, right, plus)
    }
    return left
  }
  const unary = (): Part | undefined => {
    const token = tokens[at]
    if (token === '!' || token === 'not') {
      at++
      const part = unary()
      return part && { text: `not ${bracketed(part)}`, plain: false }
    }
    return token !== undefined && (isFunction(token) || INFIX.has(token)) ? call(token) : atom()
  }
  const call = (name: string): Part | undefined => {
    at++
    const words = [name]
    while (at < tokens.length && tokens[at] !== ')' && operator() === undefined) {
      const part = atom()
      if (!part) return undefined
      words.push(bracketed(part))
    }
    return { text: words.join(' '), plain: words.length === 1 }
  }
  const atom = (): Part | undefined => {
    const token = tokens[at++]
    if (token === '(') {
      if (++depth > 50) return undefined
      const part = level(0)
      depth--
      return tokens[at++] === ')' ? part : undefined
    }
    if (token === undefined || token === ')' || SYMBOLS[token] || INFIX.has(token)) return undefined
    return { text: token.replace(/^'(.*)'$/, '"$1"'), plain: true }
  }
  const whole = level(0)
  return whole && at === tokens.length ? whole.text : undefined
}

function tokenize(source: string): string[] | undefined {
  const text = source.trim()
  if (text.length > 500) return undefined
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  let end = 0
  while (end < text.length) {
    const match = TOKEN.exec(text)
    if (!match) return undefined
    tokens.push(match[1]!)
    end = TOKEN.lastIndex
  }
  return tokens
}

/** Unlike a function, an operator has something before it; `!` precedes its value. */
function isOperator(token: string, i: number, tokens: readonly string[]): boolean {
  if (SYMBOLS[token]) return true
  return INFIX.has(token) && i > 0 && tokens[i - 1] !== '(' && !isFunction(tokens[i - 1]!)
}

function isFunction(token: string): boolean {
  return /^[A-Za-z_]\w*$/.test(token) && !/^(?:true|false|nil)$/.test(token) && !INFIX.has(token)
}

function combined(name: string, left: Part, right: Part, plus: 'add' | 'print'): Part {
  const isText = [left, right].some(({ text }) => /^["`]/.test(text) || text.startsWith('print '))
  const fn = name === 'add' ? (isText ? 'print' : plus) : name
  // `a && b && c` is one call.
  const chained = (fn === 'and' || fn === 'or' || fn === 'print') && left.text.startsWith(`${fn} `)
  const first = chained ? left.text : `${fn} ${bracketed(left)}`
  return { text: `${first} ${bracketed(right)}`, plain: false }
}

function bracketed({ text, plain }: Part): string {
  return plain ? text : `(${text})`
}

/** Syntax of another language in an action. */
interface Foreign {
  at: Span
  message: string
  /** Replacement, if known: template code or advice. */
  code?: string
  advice?: string
}

interface Operator extends Foreign {
  /** The intended function. */
  name?: string | undefined
  /** Whether it is an index in brackets. */
  brackets?: boolean
}

/** The hint of a finding. */
export function hintOf({ code, advice }: Pick<Foreign, 'code' | 'advice'>): string {
  return code === undefined ? advice! : `Write ${code}`
}

/** An operand: a path, number or string. */
const LEFT = /(?:"[^"\n]{0,200}"|[.$]?[\w.]{1,200})$/
const RIGHT = /^(?:"[^"\n]*"|'[^'\n]*'|[.$]?[\w.]+)/

interface Rule {
  pattern: RegExp
  advice?: string
  /** The replacement, from the text before and after. Without it and `advice`, the pattern is one of `SYMBOLS`. */
  code?: (whole: string, before: string, after: string) => string | undefined
}

const index = /[.$][\w.]{0,200}(\[[^[\]]*\]?)(?:\[[^[\]]*\]|\.[A-Za-z_]\w*)*/
const SEGMENT = /\[([^[\]]*)\]?|\.(\w+)/g
const RULES: readonly Rule[] = [
  { pattern: index },
  { pattern: /===?|!==?|&&|\|\||\?\?/ },
  { pattern: /=>/, advice: 'There are no functions of your own; use `define` and `template`' },
  { pattern: /<=|>=|<|>/ },
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
  { pattern: /!|\*|%/ },
  { pattern: /(?<=[\w)"\]]\s{0,20})\+(?=\s{0,20}[\w.$("])/ },
  { pattern: /(?<=[\w)"\]]\s{1,20})-(?=\s{1,20}[\w.$("])|(?<=\w)-(?=[\w.$(])/ },
  { pattern: /(?<!\{\{-?\s{0,20})\/(?!\*)/ },
  { pattern: /(?<!\$\w*\s*(?:,\s*\$\w+\s*)?:?)=/ },
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
 * @param masked the action with quoted text blanked; result offsets refer to it
 * @param text the original action, for the hint
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

/** The whole action in Go syntax, if it consists of operators between values. */
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

/** Next to other operators, an operand of `&&` or `||` is only part of its side. */
function withParentheses(one: Operator): Operator {
  const { name } = one
  return name === 'and' || name === 'or'
    ? { ...one, code: `\`${name} (…) (…)\`, with each side in parentheses` }
    : one
}

function operator({ advice, code }: Rule, whole: string, start: number, text: string): Operator {
  const end = start + whole.length
  const name = SYMBOLS[whole]
  const found = { at: { start, end }, message: `\`${whole}\` is not an operator in Go templates`, name }
  if (name === undefined || advice || code) {
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

/** Converts single to double quotes. */
function doubleQuoted(text: string): string {
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
  // A bare word is probably the name itself, as variables begin with `$`.
  if (/^[A-Za-z_]\w*$/.test(key)) return field(base, key)
  return `index ${base} ${key || '0'}`
}

/** Replacements for methods and properties of other languages; `_` is the value, `,` the arguments. */
const METHODS: Record<string, string> = OTHER.methods

const CALL = /([.$][\w.]{0,200})\.([A-Za-z]\w{0,100})\(([^()]{0,500})\)/g
const EMPTY = /(?<![\w.$])([A-Za-z]\w*)\(\s*\)/g
const POSITION = /([.$][\w.]{0,200}?)\.(\d{1,20})((?:\.\w+)*)/g

/**
 * Finds methods after a dot, functions with empty parentheses, and list positions after a dot.
 * @param masked the action with quoted text blanked; result offsets refer to it
 * @param text the original action
 * @returns also the end of each
 */
export function findMethods(masked: string, text: string): (Foreign & { end: number })[] {
  const found: (Foreign & { end: number })[] = []
  for (const { index, 0: whole, 1: value, 2: method } of masked.matchAll(CALL)) {
    const start = index + value!.length + 1
    const end = index + whole.length
    const code = call(value!, method!, text.slice(start + method!.length + 1, end - 1))
    found.push({
      at: { start, end },
      end,
      message: `\`${method}\` is not a method: values have none in Go templates`,
      ...(code === undefined
        ? { advice: `Write a function before the value, such as \`upper ${value}\`` }
        : { code: `\`${code}\`` }),
    })
  }
  for (const { index, 0: whole, 1: name } of masked.matchAll(EMPTY)) {
    const end = index + whole.length
    found.push({
      at: { start: index + name!.length, end },
      end,
      message: 'a function is called without parentheses',
      advice: `Remove \`()\` after \`${name}\``,
    })
  }
  for (const { index, 0: whole, 1: value, 2: position, 3: rest } of masked.matchAll(POSITION)) {
    const start = index + value!.length
    const item = `index ${value} ${position}`
    found.push({
      at: { start, end: start + 1 + position!.length },
      end: index + whole.length,
      message: `\`.${position}\` is not a field: \`index\` reads an item of an array`,
      code: `\`${rest ? `(${item})${rest}` : item}\``,
    })
  }
  return found
}

function call(value: string, method: string, args: string): string | undefined {
  if (!Object.hasOwn(METHODS, method)) return undefined
  const list = [...args.matchAll(/"[^"]*"|'[^']*'|[^\s,]+/g)].map(([one]) => doubleQuoted(one))
  const words = METHODS[method]!.split(' ')
  return words.flatMap((word) => (word === '_' ? [value] : word === ',' ? list : [word])).join(' ')
}
