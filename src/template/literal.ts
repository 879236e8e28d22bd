import { unquote } from './fmt/strconv.ts'
import { lex, type Token } from './lex.ts'

/** A template that renders exactly this text, even with braces in it, at its end, or separated by hidden characters. */
export function literal(text: string): string {
  return text.replace(/\{(?=\{|[^\t\n\r\x20-\x7e]|$)/g, '{{"{"}}')
}

/** An environment variable that a template reads. */
export interface ReadVariable {
  name: string
  /** Its default; undefined: none. */
  preset: string | undefined
}

/** The variables that a template's actions read by `env` with a literal name; literal text is ignored. */
export function variablesRead(source: string): ReadVariable[] {
  const found: ReadVariable[] = []
  for (const piece of lex(source)) {
    if (piece.type !== 'action') continue
    const tokens = piece.tokens.filter(({ type }) => type !== 'space')
    for (const [i, { type, text }] of tokens.entries()) {
      const name = type === 'identifier' && text === 'env' ? textOf(tokens[i + 1]) : undefined
      if (name !== undefined) found.push({ name, preset: textOf(tokens[i + 2]) })
    }
  }
  return found
}

function textOf(token: Token | undefined): string | undefined {
  return token && (token.type === 'string' || token.type === 'rawString') ? unquote(token.text) : undefined
}
