import { unquote } from './fmt/strconv.ts'
import { lex, type Token } from './lex.ts'

/**
 * Text as a template that writes it, whatever it holds: no action begins in it, at its end with what follows, or where
 * a hidden character is taken out later.
 */
export function literal(text: string): string {
  return text.replace(/\{(?=\{|[^\t\n\r\x20-\x7e]|$)/g, '{{"{"}}')
}

/** A variable of the environment that a template reads. */
export interface ReadVariable {
  name: string
  /** What stands for it where it is not set; undefined: nothing does. */
  preset: string | undefined
}

/** The variables that the actions of a template read by `env` and a text; what its text says is none. */
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
