import { nearest } from '../text/index.ts'
import type { ErrorSink } from './errors.ts'
import { parseNumber, unquote, unquoteChar } from './fmt/strconv.ts'
import { type ActionPiece, lex, type Token } from './lex.ts'
import {
  type ChainNode,
  type CommandNode,
  isEmpty,
  type Node,
  type Operand,
  type PipeNode,
  type Span,
  type TemplateNode,
  type Tree,
  type VariableNode,
} from './node.ts'

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

/** Where a pipeline stands, in Go's words. */
export type PipeContext =
  | 'command'
  | 'if'
  | 'with'
  | 'range'
  | 'parenthesized pipeline'
  | 'template clause'
  | 'block clause'

export interface PipeOptions {
  /** The variables known here; declarations are added. */
  vars: Variables
  functions: ReadonlyMap<string, unknown>
  depth: number
}

const OPERAND_START = new Set([
  'bool',
  'char',
  'dot',
  'field',
  'identifier',
  'number',
  'nil',
  'rawString',
  'string',
])
OPERAND_START.add('variable').add('(')

/** A parser of pipelines; it reads up to and with the end of the action or the closing parenthesis. */
export function pipeParser(reader: TokenReader, options: PipeOptions): (context: PipeContext) => PipeNode {
  let depth = 0

  function pipeline(context: PipeContext): PipeNode {
    const { start } = reader.peekNonSpace()
    const pipe: PipeNode = { type: 'pipe', declarations: [], assign: false, commands: [], start, end: start }
    declarations(pipe, context)
    const last = context === 'parenthesized pipeline' ? ')' : 'end'
    for (;;) {
      const token = reader.peekNonSpace()
      if (token.type === last) {
        reader.next()
        check(pipe, context, token)
        pipe.end = pipe.commands[pipe.commands.length - 1]!.end
        return pipe
      }
      if (!OPERAND_START.has(token.type)) throw unexpected(token, context)
      pipe.commands.push(command())
    }
  }

  function declarations(pipe: PipeNode, context: PipeContext): void {
    while (reader.peekNonSpace().type === 'variable') {
      const back = reader.at
      const token = reader.next()
      const next = reader.peekNonSpace()
      const comma = next.type === 'symbol' && next.text === ','
      if (next.type !== 'assign' && next.type !== 'declare' && !comma) {
        reader.at = back
        return
      }
      reader.next()
      const { start, end, text } = token
      pipe.declarations.push({ type: 'variable', name: text, path: [], start, end })
      options.vars.add(text)
      if (!comma) {
        pipe.assign = next.type === 'assign'
        return
      }
      if (context !== 'range' || pipe.declarations.length > 1) {
        throw new ParseFail(token, `too many declarations in ${context}`)
      }
      const following = reader.peekNonSpace()
      if (following.type !== 'variable' && following.type !== 'end' && following.type !== ')') {
        throw new ParseFail(following, 'range can only initialize variables')
      }
    }
  }

  function command(): CommandNode {
    const { start } = reader.peekNonSpace()
    const node: CommandNode = { operands: [], start, end: start }
    for (;;) {
      reader.peekNonSpace()
      const value = operand()
      if (value) {
        node.operands.push(value)
        node.end = value.end
      }
      const token = reader.next()
      if (token.type === 'space') continue
      if (token.type === 'end' || token.type === ')') reader.at--
      else if (token.type !== 'pipe') throw unexpected(token, 'operand')
      break
    }
    if (node.operands.length === 0) throw new ParseFail({ start, end: start + 1 }, 'empty command')
    return node
  }

  function operand(): Operand | undefined {
    const node = term()
    if (!node || reader.peek().type !== 'field') return node
    const path: string[] = []
    let end = node.end
    while (reader.peek().type === 'field') {
      const token = reader.next()
      path.push(token.text.slice(1))
      end = token.end
    }
    switch (node.type) {
      case 'field':
      case 'variable':
        return { ...node, path: [...node.path, ...path], end }
      case 'bool':
      case 'string':
      case 'number':
      case 'nil':
      case 'dot':
        throw new ParseFail(node, `unexpected . after term "${node.type}"`)
      default: {
        const chain: ChainNode = { type: 'chain', node, path, start: node.start, end }
        return chain
      }
    }
  }

  function term(): Operand | undefined {
    const token = reader.peekNonSpace()
    const { start, end, text } = token
    reader.at++
    switch (token.type) {
      case 'identifier':
        if (!options.functions.has(text)) throw undefinedFunction(token, options.functions.keys())
        return { type: 'identifier', name: text, start, end }
      case 'dot':
        return { type: 'dot', start, end }
      case 'nil':
        return { type: 'nil', start, end }
      case 'variable':
        return variable(token)
      case 'field':
        return { type: 'field', path: [text.slice(1)], start, end }
      case 'bool':
        return { type: 'bool', value: text === 'true', start, end }
      case 'number': {
        const number = parseNumber(text)
        if ('error' in number) throw new ParseFail(token, number.error)
        return { type: 'number', value: number.value, start, end }
      }
      case 'char': {
        const code = unquoteChar(text)
        if (code === undefined) {
          throw new ParseFail(
            token,
            `malformed character constant: ${text}`,
            'write strings in double quotes',
          )
        }
        return { type: 'number', value: BigInt(code), start, end }
      }
      case 'string':
      case 'rawString':
        return { type: 'string', value: textOf(token), start, end }
      case '(':
        if (++depth > options.depth) {
          throw new ParseFail(token, `parentheses are nested deeper than ${options.depth}`)
        }
        try {
          const pipe = pipeline('parenthesized pipeline')
          return { ...pipe, start, end: reader.lastEnd }
        } finally {
          depth--
        }
      default:
        reader.at--
        return undefined
    }
  }

  function variable({ text, start, end }: Token): VariableNode {
    if (!options.vars.has(text)) {
      const close = nearest(text, options.vars.names.slice(1))
      const hint = close ? `did you mean ${close}?` : `declare it first with {{${text} := …}}`
      throw new ParseFail({ start, end }, `undefined variable "${text}"`, hint)
    }
    return { type: 'variable', name: text, path: [], start, end }
  }

  return pipeline
}

function check(pipe: PipeNode, context: PipeContext, end: Token): void {
  if (pipe.commands.length === 0)
    throw new ParseFail(end, `missing value for ${context}`, 'write a value, such as .Args.name')
  pipe.commands.forEach((command, index) => {
    const { type } = command.operands[0]!
    if (index > 0 && ['bool', 'dot', 'nil', 'number', 'string'].includes(type)) {
      const hint = 'what stands behind | must be a function'
      throw new ParseFail(command, `non executable command in pipeline stage ${index + 1}`, hint)
    }
  })
}
