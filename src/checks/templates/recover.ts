import { type ActionPiece, lex, type Memo, type TemplateError, type Tree } from '../../template/index.ts'

/** An unparsable action. Offsets include its braces. */
export interface Unparsable {
  start: number
  end: number
  errors: TemplateError[]
}

/** A template, parsed as far as possible. */
interface Recovered {
  /** The template with unparsable actions blanked, so that offsets stay the same. */
  source: string
  tree: Tree
  unparsable: Unparsable[]
  /** Openers of unclosed blocks. */
  unclosed: TemplateError[]
}

/** Each round may reveal errors hidden before. */
const ROUNDS = 4

/** Parses a template; unparsable parts are set aside so that the rest can be checked. */
export function recover(source: string, { parse }: Pick<Memo, 'parse'>): Recovered {
  const first = parse(source)
  if (first.errors.length === 0) return { source, tree: first.tree, unparsable: [], unclosed: [] }
  const unparsable = new Map<number, Unparsable>()
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
      // An added `{{end}}` that turned out to be superfluous.
      if (action.start >= source.length) continue
      // Errors after an unparsable opener are its consequence.
      const echo = round > 0 && isEnd(source, action)
      const known = unparsable.get(action.start)
      if (known) known.errors.push(error)
      else if (!echo) unparsable.set(action.start, { start: action.start, end: action.end, errors: [error] })
    }
    for (const action of blank) text = blanked(text, action)
    text += ends
    ;({ errors, tree } = parse(text))
  }
  const list = [...unparsable.values()].sort((a, b) => a.start - b.start)
  return { source: text, tree, unparsable: withoutEchoes(source, list), unclosed }
}

function isEnd(source: string, { start, end }: { start: number; end: number }): boolean {
  return /^\{\{-?\s*(?:end|else)\s*-?\}\}$/.test(source.slice(start, end))
}

/** `{{end}}` of a block with an unparsable opener is no separate mistake. */
function withoutEchoes(source: string, unparsable: Unparsable[]): Unparsable[] {
  const first = unparsable.findIndex((action) => !isEnd(source, action))
  return unparsable.filter((action, i) => first === -1 || i < first || !isEnd(source, action))
}

/** The text of the same length with one action that does nothing and opens the same block. */
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
