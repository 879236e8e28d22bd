import type { Token } from './lex.ts'
import { nearest } from './nearest.ts'
import type { Span } from './nodes.ts'
import { unquote } from './quote.ts'

/** What stops the parsing of one action; `fatal` of the whole template. */
export class ParseFail extends Error {
  constructor(
    readonly span: Span,
    message: string,
    readonly hint?: string,
    readonly fatal = false,
  ) {
    super(message)
  }
}

/** Reads the tokens of one action. Meeting a lexical error throws it. */
export class TokenReader {
  at = 0
  constructor(private readonly tokens: readonly Token[]) {}

  /** Where the token read last ends. */
  get lastEnd(): number {
    return this.tokens[this.at - 1]?.end ?? 0
  }
  peek(): Token {
    const token = this.tokens[Math.min(this.at, this.tokens.length - 1)]!
    if (token.type === 'error') throw new ParseFail(token, token.text, token.hint)
    return token
  }
  next(): Token {
    const token = this.peek()
    this.at++
    return token
  }
  peekNonSpace(): Token {
    while (this.peek().type === 'space') this.at++
    return this.peek()
  }
  nextNonSpace(): Token {
    this.peekNonSpace()
    return this.next()
  }
  expectEnd(context: string): void {
    const token = this.nextNonSpace()
    if (token.type !== 'end') throw unexpected(token, context)
  }
  templateName(context: string): string {
    const token = this.nextNonSpace()
    if (token.type !== 'string' && token.type !== 'rawString') {
      throw unexpected(token, context, 'the name is a string in quotes')
    }
    return textOf(token)
  }
}

/** The variables in sight, `$` first. */
export class Variables {
  readonly names: string[] = ['$']
  private readonly counts = new Map<string, number>([['$', 1]])

  get length(): number {
    return this.names.length
  }
  has(name: string): boolean {
    return (this.counts.get(name) ?? 0) > 0
  }
  add(name: string): void {
    this.names.push(name)
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
  }
  /** Forgets all but the first ones. */
  shrink(length: number): void {
    while (this.names.length > length) {
      const name = this.names.pop()!
      this.counts.set(name, this.counts.get(name)! - 1)
    }
  }
}

export function textOf(token: Token): string {
  const text = unquote(token.text)
  if (text === undefined) throw new ParseFail(token, 'invalid syntax in string', 'check the backslashes')
  return text
}

export function undefinedFunction(token: Token, known: Iterable<string>): ParseFail {
  const { text } = token
  const message = `function "${text}" not defined`
  const root = nearest(text, ['Args', 'Config', 'Request', 'Response'])
  if (root && root.toLowerCase() === text.toLowerCase()) {
    return new ParseFail(token, message, `did you mean .${root}?`)
  }
  if (/^else?_?if$/i.test(text)) return new ParseFail(token, message, 'write {{else if …}}')
  const close = nearest(text, known)
  return new ParseFail(token, message, close ? `did you mean ${close}?` : 'a field begins with a dot')
}

const OPERATORS: Record<string, string> = {
  '==': 'write (eq a b)',
  '=': 'write (eq a b) to compare',
  '!=': 'write (ne a b)',
  '!': 'write (not a), or (ne a b)',
  '&': 'write (and a b)',
  '?': 'write {{if a}}b{{else}}c{{end}}',
  '<': 'write (lt a b)',
  '>': 'write (gt a b)',
  '*': 'write (mul a b)',
  '/': 'write (div a b); a comment is {{/* … */}} alone',
  '%': 'write (mod a b)',
  ',': 'arguments are separated by spaces',
  '#': 'blocks are {{if …}}, {{range …}} and {{with …}}',
  '[': 'write (index a 0)',
  '(': 'put a space before (',
  '{': 'two braces open an action',
  declare: 'a field cannot be assigned, only a variable $x',
}

export function unexpected(token: Token, context: string, hint?: string): ParseFail {
  const shown = token.type === 'end' ? '}}' : token.text
  const cure = hint ?? OPERATORS[token.text] ?? OPERATORS[token.type]
  return new ParseFail(token, `unexpected "${shown}" in ${context}`, cure)
}
