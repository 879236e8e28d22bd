import { type ActionPiece, lex, type Memo, type TemplateError, type Tree } from '../../template/index.ts'

/** An action that cannot be parsed. Offsets are those of the whole action, braces included. */
export interface Broken {
  start: number
  end: number
  errors: TemplateError[]
}

/** A template read as far as it can be. */
export interface Recovered {
  /** The template with its broken actions made harmless: every other offset is as before. */
  source: string
  tree: Tree
  broken: Broken[]
  /** Openers of blocks that are never closed. */
  unclosed: TemplateError[]
}

/** Each round may uncover errors that those before had hidden. */
const ROUNDS = 4

/** Parses a template; where that fails, what is broken is set aside so that the rest can be looked at too. */
export function recover(source: string, { parse }: Pick<Memo, 'parse'>): Recovered {
  const first = parse(source)
  if (first.errors.length === 0) return { source, tree: first.tree, broken: [], unclosed: [] }
  const broken = new Map<number, Broken>()
  const unclosed: TemplateError[] = []
  let text = source
  let { errors, tree } = first
  for (let round = 0; round < ROUNDS && errors.length > 0; round++) {
    const actions = [...lex(text)].filter((piece): piece is ActionPiece => piece.type === 'action')
    const blank: ActionPiece[] = []
    let ends = ''
    for (const error of errors) {
      const action = actions.findLast(({ start }) => start <= error.start)
      if (!action) continue
      if (error.unclosed) {
        if (action.start < source.length) unclosed.push(error)
        ends += '{{end}}'
        continue
      }
      blank.push(action)
      // An `{{end}}` that was added here and is not wanted after all.
      if (action.start >= source.length) continue
      // What follows a broken opener is an echo of it.
      const echo = round > 0 && isEnd(source, action)
      const known = broken.get(action.start)
      if (known) known.errors.push(error)
      else if (!echo) broken.set(action.start, { start: action.start, end: action.end, errors: [error] })
    }
    for (const action of blank) text = blanked(text, action)
    text += ends
    ;({ errors, tree } = parse(text))
  }
  const list = [...broken.values()].sort((a, b) => a.start - b.start)
  return { source: text, tree, broken: withoutEchoes(source, list), unclosed }
}

function isEnd(source: string, { start, end }: { start: number; end: number }): boolean {
  return /^\{\{-?\s*(?:end|else)\s*-?\}\}$/.test(source.slice(start, end))
}

/** `{{end}}` of a block whose opener is broken is no mistake of its own. */
function withoutEchoes(source: string, broken: Broken[]): Broken[] {
  const first = broken.findIndex((action) => !isEnd(source, action))
  return broken.filter((action, i) => first === -1 || i < first || !isEnd(source, action))
}

/** The same text with one action that does nothing, of the same length, and that opens the same block. */
function blanked(text: string, { start, end }: ActionPiece): string {
  const whole = text.slice(start, end)
  const [, open, inner, close] = /^(\{\{(?:-\s)?)(.*?)((?:\s-)?\}\})$/s.exec(whole) ?? []
  if (inner === undefined) return text.slice(0, start) + ' '.repeat(end - start) + text.slice(end)
  const head = /^\s*(?:(?:else\s+)?(?:if|with|range)\b|\$\w+(?:\s*,\s*\$\w+)?\s*:?=(?!=))/.exec(inner)?.[0]
  const stand = head === undefined ? '""' : `${head} 1`
  const filled = stand.length <= inner.length ? stand.padEnd(inner.length) : undefined
  const plain = filled ?? (inner.length >= 2 ? '""'.padEnd(inner.length) : undefined)
  const made = plain === undefined ? ' '.repeat(whole.length) : `${open}${plain}${close}`
  return text.slice(0, start) + made + text.slice(end)
}
