import type { ErrorSink } from './errors.ts'
import { type ActionPiece, lex } from './lex.ts'
import { isEmpty, type Node, type PipeNode, type Span, type TemplateNode, type Tree } from './nodes.ts'
import { type PipeContext, pipeParser } from './pipe.ts'
import { ParseFail, TokenReader, Variables } from './reader.ts'

/** An open block; `root` is the whole template. */
interface Frame {
  kind: 'root' | 'define' | 'block' | 'if' | 'with' | 'range'
  span: Span
  /** Where nodes go now. */
  list: Node[]
  /** Opened by `else if` or `else with`: ends with the block it belongs to. */
  chained: boolean
  inElse: boolean
  /** How many variables were known before the block. */
  mark: number
  name?: string
  startElse?: () => Node[]
}

export interface ParseOptions {
  /** Names of the functions. */
  functions: ReadonlyMap<string, unknown>
  /** Deepest nesting of blocks and parentheses. */
  depth: number
  /** The template's own name, which `template` can call. */
  name: string
}

/**
 * Parses a template by the rules of Go's text/template/parse/parse.go. After an error it goes on with the
 * next action, so that one run finds all of them.
 */
export function parseTree(source: string, options: ParseOptions, sink: ErrorSink): Tree {
  const root: Frame = frame('root', { start: 0, end: source.length }, [], 0)
  const stack = [root]
  const definitions = new Map<string, Node[]>()
  /** One stack of variables for the template and for each definition inside of it. */
  const scopes: Variables[] = [new Variables()]
  const scope = () => scopes[scopes.length - 1]!
  const top = () => stack[stack.length - 1]!

  const define = (name: string, list: Node[], span: Span) => {
    const known = definitions.get(name)
    if (known && !isEmpty(known) && !isEmpty(list)) {
      sink.add('parse', span, `multiple definition of template "${name}"`, 'give each template its own name')
    } else if (!known || isEmpty(known)) definitions.set(name, list)
  }

  const open = (kind: Frame['kind'], span: Span, list: Node[]): Frame => {
    const opened = frame(kind, span, list, scope().length)
    if (stack.length > options.depth) {
      throw new ParseFail(span, `blocks are nested deeper than ${options.depth}`, undefined, true)
    }
    stack.push(opened)
    return opened
  }

  const openDefinition = (kind: 'define' | 'block', span: Span, name: string) => {
    const list: Node[] = []
    open(kind, span, list).name = name
    scopes.push(new Variables())
  }

  const close = (span: Span) => {
    for (;;) {
      const closed = top()
      if (closed.kind === 'root') {
        throw new ParseFail(span, 'unexpected {{end}}', 'no block is open here: remove it')
      }
      stack.pop()
      if (closed.kind === 'define' || closed.kind === 'block') {
        scopes.pop()
        define(closed.name!, closed.list, closed.span)
        return
      }
      scope().shrink(closed.mark)
      if (!closed.chained) return
    }
  }

  const control = (kind: 'if' | 'with' | 'range', reader: TokenReader, span: Span, chained: boolean) => {
    const opened = open(kind, span, [])
    opened.chained = chained
    const parent = stack[stack.length - 2]!
    const node: Node = {
      type: kind,
      pipe: emptyPipe(span),
      list: opened.list,
      elseList: undefined,
      start: span.start,
      end: span.end,
    }
    parent.list.push(node)
    opened.startElse = () => {
      node.elseList = []
      return node.elseList
    }
    node.pipe = pipe(reader, kind)
  }

  const pipe = (reader: TokenReader, context: PipeContext) =>
    pipeParser(reader, { vars: scope(), functions: options.functions, depth: options.depth })(context)

  const otherwise = (reader: TokenReader, span: Span) => {
    const current = top()
    if (!current.startElse) {
      throw new ParseFail(span, 'unexpected {{else}}', 'it belongs inside if, with or range')
    }
    if (current.inElse) throw new ParseFail(span, 'expected end; found {{else}}', 'a block has one {{else}}')
    current.inElse = true
    current.list = current.startElse()
    const next = reader.peekNonSpace()
    if (next.type === 'keyword' && (next.text === 'if' || next.text === 'with')) {
      if (next.text !== current.kind) {
        throw new ParseFail(next, `unexpected <${next.text}> in input`, `close with {{end}} or nest a block`)
      }
      reader.nextNonSpace()
      control(next.text, reader, span, true)
    } else reader.expectEnd('else')
  }

  const inRange = () => {
    for (let at = stack.length - 1; at >= 0; at--) {
      const { kind, inElse } = stack[at]!
      if (kind === 'range' && !inElse) return true
      if (kind === 'define' || kind === 'block') return false
    }
    return false
  }

  const action = (piece: ActionPiece) => {
    const reader = new TokenReader(piece.tokens)
    const first = reader.peekNonSpace()
    const word = first.type === 'keyword' ? first.text : ''
    if (word !== '') reader.nextNonSpace()
    const list = top().list
    const span = { start: piece.start, end: piece.end }
    switch (word) {
      case 'if':
      case 'with':
      case 'range':
        return control(word, reader, span, false)
      case 'else':
        return otherwise(reader, span)
      case 'end':
        reader.expectEnd('end')
        return close(span)
      case 'define': {
        if (stack.length > 1) {
          openDefinition('define', span, '')
          throw new ParseFail(first, 'unexpected {{define}}', 'definitions stand outside of all blocks')
        }
        openDefinition('define', span, '')
        top().name = reader.templateName('define clause')
        return reader.expectEnd('define clause')
      }
      case 'template':
      case 'block': {
        const context = `${word} clause` as const
        const node: TemplateNode = { type: 'template', name: '', pipe: undefined, ...span }
        if (word === 'block') {
          // The pipeline sees the variables of outside, the body none.
          const outside = scope()
          openDefinition('block', span, '')
          node.name = reader.templateName(context)
          top().name = node.name
          scopes.push(outside)
          try {
            node.pipe = pipe(reader, context)
          } finally {
            scopes.pop()
          }
        } else {
          node.name = reader.templateName(context)
          if (reader.peekNonSpace().type !== 'end') node.pipe = pipe(reader, context)
        }
        list.push(node)
        return
      }
      case 'break':
      case 'continue':
        reader.expectEnd(`{{${word}}}`)
        if (!inRange()) {
          throw new ParseFail(span, `{{${word}}} outside {{range}}`, 'it works only inside a range')
        }
        list.push({ type: word, ...span })
        return
      default:
        list.push({ type: 'action', pipe: pipe(reader, 'command'), ...span })
    }
  }

  for (const piece of lex(source)) {
    if (piece.type === 'text') {
      top().list.push(piece)
      continue
    }
    try {
      action(piece)
    } catch (error) {
      if (!(error instanceof ParseFail)) throw error
      sink.add('parse', error.span, error.message, error.hint)
      if (error.fatal || sink.full()) return { root: root.list, definitions }
    }
  }
  while (stack.length > 1) {
    const { kind, chained, span } = stack.pop()!
    if (!chained) sink.add('parse', span, `unexpected EOF: {{${kind}}} is never closed`, 'add {{end}}')
  }
  define(options.name, root.list, { start: 0, end: 0 })
  return { root: definitions.get(options.name)!, definitions }
}

function frame(kind: Frame['kind'], span: Span, list: Node[], mark: number): Frame {
  return { kind, span, list, chained: false, inElse: false, mark }
}

function emptyPipe(span: Span): PipeNode {
  return { type: 'pipe', declarations: [], assign: false, commands: [], ...span }
}
