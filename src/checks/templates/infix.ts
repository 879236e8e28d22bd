/** Functions by their strength as operators, the weakest first. */
const LEVELS: readonly (readonly string[])[] = [
  ['or'],
  ['and'],
  ['eq', 'ne', 'lt', 'le', 'gt', 'ge'],
  ['add', 'sub'],
  ['mul', 'div', 'mod'],
]
const SYMBOLS: Record<string, string> = {
  '==': 'eq',
  '===': 'eq',
  '=': 'eq',
  '!=': 'ne',
  '!==': 'ne',
  '&&': 'and',
  '||': 'or',
  '??': 'or',
  '<=': 'le',
  '>=': 'ge',
  '<': 'lt',
  '>': 'gt',
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '%': 'mod',
  '!': 'not',
}
const TOKEN =
  /\s*("(?:[^"\\\n]|\\.)*"|`[^`]*`|'[^'\n]*'|[()]|[=!]==?|&&|\|\||\?\?|<=|>=|[<>=!+*/%]|-(?![\w.])|[-.$]?[\w$.]+)/y

/** Words that stand between two values like operators. */
export const INFIX: ReadonlySet<string> = new Set(LEVELS.flat())

interface Part {
  text: string
  /** Needs no parentheses. */
  plain: boolean
}

const MAX_LENGTH = 500
const MAX_DEPTH = 50

/**
 * A condition written with operators, symbols or words, as Go writes it: `.a == 1 && len .b > 2` becomes
 * `and (eq .a 1) (gt (len .b) 2)`.
 * @param plus the function that `+` stands for where no text in quotes is beside it
 * @returns undefined when it cannot be read so, or holds no operator
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
      if (++depth > MAX_DEPTH) return undefined
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
  if (text.length > MAX_LENGTH) return undefined
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

/** An operator has something before it, where a function has not; `!` stands before its value. */
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
