import type { Span } from './node.ts'

export type TokenType =
  | 'space'
  | 'pipe'
  | 'assign'
  | 'declare'
  | 'variable'
  | 'field'
  | 'dot'
  | 'identifier'
  | 'keyword'
  | 'bool'
  | 'nil'
  | 'number'
  | 'char'
  | 'string'
  | 'rawString'
  | '('
  | ')'
  | 'symbol'
  | 'error'
  | 'end'

export interface Token extends Span {
  type: TokenType
  text: string
  hint?: string
}

interface TextPiece extends Span {
  type: 'text'
  text: string
}
/** An action with its tokens; the last one is `end`, or `error` if lexing failed. */
export interface ActionPiece extends Span {
  type: 'action'
  tokens: Token[]
}
type Piece = TextPiece | ActionPiece

const SPACE = ' \t\r\n'
const KEYWORDS = 'block break continue define else end if range template with'.split(' ')
const WORDS = new Map<string, TokenType>([
  ...KEYWORDS.map((word) => [word, 'keyword'] as const),
  ['nil', 'nil'],
  ['true', 'bool'],
  ['false', 'bool'],
])
const END = /(?:[ \t\r\n]-)?\}\}/y
const WORD = /[\p{L}\p{Nd}_]+/uy
const NUMBER_START = /[+-]|\.?\d/y
const NUMBER =
  /[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?|0[oO][0-7_]*(?:\.[0-7_]*)?|0[bB][01_]*(?:\.[01_]*)?|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?/y

/** Length of the match at this position, without creating a match object. */
function lengthOf(pattern: RegExp, source: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(source) ? pattern.lastIndex - at : 0
}

/**
 * Splits a template into text and actions, by the rules of Go's text/template/parse/lex.go. Comments disappear after
 * trimming. An action that cannot be lexed ends with an `error` token, and lexing continues after its closing braces.
 */
export function* lex(source: string): Generator<Piece> {
  let at = 0
  let trimNext = false
  const text = (start: number, end: number, trimEnd: boolean): TextPiece | undefined => {
    let from = start
    let to = end
    if (trimNext) while (from < to && SPACE.includes(source[from]!)) from++
    if (trimEnd) while (to > from && SPACE.includes(source[to - 1]!)) to--
    return to > from ? { type: 'text', text: source.slice(from, to), start: from, end: to } : undefined
  }
  for (;;) {
    const open = source.indexOf('{{', at)
    if (open < 0) {
      const rest = text(at, source.length, false)
      if (rest) yield rest
      return
    }
    const trims = source[open + 2] === '-' && isSpace(source[open + 3])
    const before = text(at, open, trims)
    if (before) yield before
    const inner = open + (trims ? 4 : 2)
    if (source.startsWith('/*', inner)) {
      const comment = lexComment(source, open, inner)
      if ('piece' in comment) yield comment.piece
      trimNext = comment.trim
      at = comment.next
      continue
    }
    const action = lexAction(source, open, inner)
    yield action.piece
    trimNext = action.trim
    at = action.next
  }
}

type Lexed = { piece: ActionPiece; trim: boolean; next: number }

function isSpace(char: string | undefined): boolean {
  return char !== undefined && SPACE.includes(char)
}

function lexComment(source: string, open: number, inner: number): Lexed | { trim: boolean; next: number } {
  const close = source.indexOf('*/', inner + 2)
  if (close < 0) {
    const lexed = failed(source, open, [], open, open + 2, 'unclosed comment', 'close it with */}}')
    return { ...lexed, next: source.length }
  }
  const after = close + 2
  if (source.startsWith('}}', after)) return { trim: false, next: after + 2 }
  if (isSpace(source[after]) && source.startsWith('-}}', after + 1)) return { trim: true, next: after + 4 }
  const hint = '}} must follow */ directly'
  const end = Math.min(after + 1, source.length)
  return failed(source, open, [], after, end, 'comment ends before closing delimiter', hint)
}

/** An action that ends in an error; lexing continues after the next `}}`. */
function failed(
  source: string,
  open: number,
  tokens: Token[],
  start: number,
  end: number,
  message: string,
  hint?: string,
): Lexed {
  tokens.push({ type: 'error', text: message, start, end, ...(hint === undefined ? {} : { hint }) })
  const close = source.indexOf('}}', Math.max(start, open + 2))
  const next = close < 0 ? source.length : close + 2
  return { piece: { type: 'action', tokens, start: open, end: next }, trim: false, next }
}

/** Leaves the blank that belongs to a trim marker. */
const BLANKS = /[ \t\r\n]+?(?=[ \t\r\n]-\}\})|[ \t\r\n]+/y
/** Possible tokens by first character. */
const TOKENS = new Map<string, readonly [TokenType, RegExp]>([
  ...[...SPACE].map((blank) => [blank, ['space', BLANKS]] as const),
  ['=', ['assign', /=/y]],
  [':', ['declare', /:=/y]],
  ['|', ['pipe', /\|/y]],
  ['"', ['string', /"(?:[^"\\\n]|\\[^\n])*"/y]],
  ['`', ['rawString', /`[^`]*`/y]],
  ["'", ['char', /'(?:[^'\\\n]|\\[^\n])*'/y]],
  ['(', ['(', /\(/y]],
  [')', [')', /\)/y]],
])

/** Errors if no token matches. */
const UNFINISHED: Partial<Record<string, [message: string, hint: string]>> = {
  ':': ['expected :=', 'declare a variable with :='],
  '"': ['unterminated quoted string', 'close it with " on the same line'],
  '`': ['unterminated raw quoted string', 'close it with `'],
  "'": ['unterminated character constant', 'write strings in double quotes'],
}

function lexAction(source: string, open: number, inner: number): Lexed {
  const tokens: Token[] = []
  let at = inner
  let parens = 0
  const fail = (start: number, end: number, message: string, hint?: string) =>
    failed(source, open, tokens, start, end, message, hint)
  const push = (type: TokenType, length: number) => {
    tokens.push({ type, text: source.slice(at, at + length), start: at, end: at + length })
    at += length
  }
  for (;;) {
    const char = source[at]
    const closing = lengthOf(END, source, at)
    if (closing > 0 && parens > 0) return fail(at, at + 2, 'unclosed left paren', 'add the missing )')
    if (closing > 0) {
      push('end', closing)
      return { piece: { type: 'action', tokens, start: open, end: at }, trim: closing > 2, next: at }
    }
    if (char === undefined) return fail(open, open + 2, 'unclosed action', 'close it with }}')
    const [type, form] = TOKENS.get(char) ?? []
    const length = form ? lengthOf(form, source, at) : 0
    if (type && length > 0) {
      if (type === '(') parens++
      if (type === ')' && --parens < 0) return fail(at, at + 1, 'unexpected right paren', 'remove this )')
      push(type, length)
      continue
    }
    const [message, hint] = UNFINISHED[char] ?? []
    if (message) return fail(at, at + 1, message, hint)
    const error = lexWord(source, at, char, push)
    if (error) return fail(error.start, error.end, error.message, error.hint)
  }
}

type LexError = { start: number; end: number; message: string; hint?: string }

/** Numbers, names, fields, variables and stray symbols. */
function lexWord(
  source: string,
  at: number,
  char: string,
  push: (type: TokenType, length: number) => void,
): LexError | undefined {
  if (lengthOf(NUMBER_START, source, at) > 0) return lexNumber(source, at, push)
  const prefix = char === '.' || char === '$' ? 1 : 0
  const isBare = prefix > 0 && atTerminator(source, at + 1)
  const end = at + prefix + (isBare ? 0 : lengthOf(WORD, source, at + prefix))
  if (end === at && char >= ' ' && char <= '~') {
    push('symbol', 1)
    return undefined
  }
  if (end === at) {
    const message = `unrecognized character in action: ${codePointName(source, at)}`
    return { start: at, end: at + 1, message }
  }
  if (!atTerminator(source, end)) {
    const hint = badCharacterHint(source, at, end)
    const message = `bad character ${codePointName(source, end)}`
    return { start: end, end: end + 1, message, ...(hint ? { hint } : {}) }
  }
  if (char === '.') push(end === at + 1 ? 'dot' : 'field', end - at)
  else push(char === '$' ? 'variable' : (WORDS.get(source.slice(at, end)) ?? 'identifier'), end - at)
  return undefined
}

function lexNumber(
  source: string,
  at: number,
  push: (type: TokenType, length: number) => void,
): LexError | undefined {
  let length = lengthOf(NUMBER, source, at)
  const bad = (end: number): LexError => ({
    start: at,
    end,
    message: `bad number syntax: ${JSON.stringify(source.slice(at, end))}`,
  })
  if (lengthOf(WORD, source, at + length) > 0) return bad(at + length + 1)
  const sign = source[at + length]
  if (sign === '+' || sign === '-') {
    length += lengthOf(NUMBER, source, at + length)
    if (source[at + length - 1] !== 'i' || lengthOf(WORD, source, at + length) > 0) return bad(at + length)
  }
  push('number', length)
  return undefined
}

function atTerminator(source: string, at: number): boolean {
  const char = source[at]
  return char === undefined || ' \t\r\n.,|:)('.includes(char) || source.startsWith('}}', at)
}

function codePointName(source: string, at: number): string {
  const code = source.codePointAt(at) ?? 0
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')} '${String.fromCodePoint(code)}'`
}

function badCharacterHint(source: string, start: number, bad: number): string | undefined {
  const word = source.slice(start, bad)
  switch (source[bad]) {
    case '-': {
      const dot = word.lastIndexOf('.')
      const [name] = /^[\w-]*/.exec(source.slice(start + dot + 1))!
      const path = (/[^\s{}|()]*$/.exec(source.slice(Math.max(0, start - 200), start))?.[0] ?? '') + word
      if (word.startsWith('.'))
        return `write (index ${path.slice(0, path.lastIndexOf('.')) || '.'} "${name}")`
      return 'a name cannot hold a hyphen'
    }
    case '[':
      return `write (index ${word} …)`
    case '=':
      return 'put a space before ='
    case '"':
    case '`':
      return 'put a space before the string'
    case '}':
      return 'close the action with }}'
    default:
      return undefined
  }
}
