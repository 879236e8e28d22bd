import { nearest } from '../text/index.ts'
import type { ErrorSink } from './errors.ts'
import { parseNumber, unquote, unquoteChar } from './fmt/strconv.ts'
import { type ActionPiece, lex, type Token, type TokenType } from './lex.ts'
import {
  type BranchNode,
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
import { Scope } from './unit.ts'

/** An open block; `root` is the whole template. */
interface Frame {
  kind: 'root' | 'define' | 'block' | 'if' | 'with' | 'range'
  span: Span
  /** The current list of nodes. */
  list: Node[]
  /** Opened by `else if` or `else with`: ends with its outer block. */
  chained: boolean
  /** Number of variables before the block. */
  variableCount: number
  /** Name of a definition. */
  name: string
  branch?: BranchNode
}

interface ParseOptions {
  /** Names of the functions. */
  functions: ReadonlyMap<string, unknown>
  /** Maximum nesting of blocks and parentheses. */
  depth: number
  /** The template's own name for `template`. */
  name: string
}

/**
 * Parses a template by the rules of Go's text/template/parse/parse.go. After an error it continues with the next
 * action, to find all errors.
 */
export function parseTree(source: string, options: ParseOptions, sink: ErrorSink): Tree {
  return new Parser(source, options, sink).parse()
}

class Parser {
  private readonly root: Frame
  private readonly stack: Frame[]
  private readonly definitions = new Map<string, Node[]>()
  /** A stack of variables for the template and for each nested definition. */
  private readonly scopes: Scope[] = [new Scope()]

  constructor(
    private readonly source: string,
    private readonly options: ParseOptions,
    private readonly sink: ErrorSink,
  ) {
    this.root = frame('root', { start: 0, end: source.length }, [], 0)
    this.stack = [this.root]
  }

  parse(): Tree {
    const { definitions, options, root, sink, stack } = this
    for (const piece of lex(this.source)) {
      if (piece.type === 'text') {
        this.top.list.push(piece)
        continue
      }
      try {
        this.action(piece)
      } catch (error) {
        if (!(error instanceof ParseError)) throw error
        sink.add('parse', error.span, error.message, error.hint)
        if (error.fatal || sink.full()) return { root: root.list, definitions }
      }
    }
    while (stack.length > 1) {
      const { kind, chained, span } = stack.pop()!
      if (!chained)
        sink.add('parse', span, `unexpected EOF: {{${kind}}} is never closed`, 'add {{end}}', {
          unclosed: true,
        })
    }
    this.define(options.name, root.list, { start: 0, end: 0 })
    return { root: definitions.get(options.name)!, definitions }
  }

  private get top(): Frame {
    return this.stack[this.stack.length - 1]!
  }

  private get scope(): Scope {
    return this.scopes[this.scopes.length - 1]!
  }

  private action(piece: ActionPiece): void {
    const reader = new TokenReader(piece.tokens)
    const first = reader.peekNonSpace()
    const word = first.type === 'keyword' ? first.text : ''
    if (word !== '') reader.nextNonSpace()
    const { list } = this.top
    const span = { start: piece.start, end: piece.end }
    switch (word) {
      case 'if':
      case 'with':
      case 'range':
        this.control(word, reader, span, false)
        break
      case 'else':
        this.elseBranch(reader, span)
        break
      case 'end':
        reader.expectEnd('end')
        this.close(span)
        break
      case 'define':
        this.definition(reader, first, span)
        break
      case 'template':
      case 'block':
        list.push(this.call(word, reader, span))
        break
      case 'break':
      case 'continue':
        reader.expectEnd(`{{${word}}}`)
        if (!this.inRange()) {
          throw new ParseError(span, `{{${word}}} outside {{range}}`, 'it is valid only inside a range')
        }
        list.push({ type: word, ...span })
        break
      default:
        list.push({ type: 'action', pipe: this.pipe(reader, 'command'), ...span })
    }
  }

  private control(kind: 'if' | 'with' | 'range', reader: TokenReader, span: Span, chained: boolean): void {
    const parent = this.top
    const opened = this.open(kind, span)
    opened.chained = chained
    const node: BranchNode = {
      type: kind,
      pipe: { type: 'pipe', declarations: [], assign: false, commands: [], ...span },
      list: opened.list,
      elseList: undefined,
      ...span,
    }
    opened.branch = node
    parent.list.push(node)
    node.pipe = this.pipe(reader, kind)
  }

  private elseBranch(reader: TokenReader, span: Span): void {
    const current = this.top
    if (!current.branch) {
      throw new ParseError(span, 'unexpected {{else}}', 'it belongs inside if, with or range')
    }
    if (current.branch.elseList)
      throw new ParseError(span, 'expected end; found {{else}}', 'a block has one {{else}}')
    current.branch.elseList = []
    current.list = current.branch.elseList
    const next = reader.peekNonSpace()
    if (next.type === 'keyword' && (next.text === 'if' || next.text === 'with')) {
      if (next.text !== current.kind) {
        throw new ParseError(next, `unexpected <${next.text}> in input`, `close with {{end}} or nest a block`)
      }
      reader.nextNonSpace()
      this.control(next.text, reader, span, true)
    } else reader.expectEnd('else')
  }

  private close(span: Span): void {
    for (;;) {
      const closed = this.top
      if (closed.kind === 'root') {
        throw new ParseError(span, 'unexpected {{end}}', 'no block is open here: remove it')
      }
      this.stack.pop()
      if (closed.kind === 'define' || closed.kind === 'block') {
        this.scopes.pop()
        this.define(closed.name, closed.list, closed.span)
        return
      }
      this.scope.leave(closed.variableCount)
      if (!closed.chained) return
    }
  }

  private definition(reader: TokenReader, first: Token, span: Span): void {
    const outside = this.stack.length === 1
    const opened = this.openDefinition('define', span)
    if (!outside) {
      throw new ParseError(first, 'unexpected {{define}}', 'definitions stand outside of all blocks')
    }
    opened.name = reader.templateName('define clause')
    reader.expectEnd('define clause')
  }

  /** `template`, and `block`, which is also a definition. */
  private call(word: 'template' | 'block', reader: TokenReader, span: Span): TemplateNode {
    const context = `${word} clause` as const
    const node: TemplateNode = { type: 'template', name: '', pipe: undefined, ...span }
    if (word === 'template') {
      node.name = reader.templateName(context)
      if (reader.peekNonSpace().type !== 'end') node.pipe = this.pipe(reader, context)
      return node
    }
    // The pipeline sees outer variables, the body none.
    const outside = this.scope
    const opened = this.openDefinition('block', span)
    node.name = reader.templateName(context)
    opened.name = node.name
    node.pipe = this.pipe(reader, context, outside)
    return node
  }

  private open(kind: Frame['kind'], span: Span): Frame {
    const { depth } = this.options
    if (this.stack.length > depth) {
      throw new ParseError(span, `blocks are nested deeper than ${depth}`, undefined, true)
    }
    const opened = frame(kind, span, [], this.scope.names.length)
    this.stack.push(opened)
    return opened
  }

  private openDefinition(kind: 'define' | 'block', span: Span): Frame {
    const opened = this.open(kind, span)
    this.scopes.push(new Scope())
    return opened
  }

  private define(name: string, list: Node[], span: Span): void {
    const known = this.definitions.get(name)
    if (known && !isEmpty(known) && !isEmpty(list)) {
      const hint = 'give each template its own name'
      this.sink.add('parse', span, `multiple definition of template "${name}"`, hint)
    } else if (!known || isEmpty(known)) this.definitions.set(name, list)
  }

  private pipe(reader: TokenReader, context: PipeContext, variables = this.scope): PipeNode {
    return new PipeParser(reader, variables, this.options).pipeline(context)
  }

  private inRange(): boolean {
    const { stack } = this
    for (let at = stack.length - 1; at >= 0; at--) {
      const { kind, branch } = stack[at]!
      if (kind === 'range' && !branch?.elseList) return true
      if (kind === 'define' || kind === 'block') return false
    }
    return false
  }
}

function frame(kind: Frame['kind'], span: Span, list: Node[], variableCount: number): Frame {
  return { kind, span, list, chained: false, variableCount, name: '' }
}

/** Stops the parsing of one action; if `fatal`, of the whole template. */
class ParseError extends Error {
  constructor(
    readonly span: Span,
    message: string,
    readonly hint?: string,
    readonly fatal = false,
  ) {
    super(message)
  }
}

/** Reads the tokens of one action; throws lexical errors. */
class TokenReader {
  at = 0
  constructor(private readonly tokens: readonly Token[]) {}

  get lastEnd(): number {
    return this.tokens[this.at - 1]?.end ?? 0
  }
  peek(): Token {
    const token = this.tokens[Math.min(this.at, this.tokens.length - 1)]!
    if (token.type === 'error') throw new ParseError(token, token.text, token.hint)
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
    return stringValue(token)
  }
}

function stringValue(token: Token): string {
  const text = unquote(token.text)
  if (text === undefined) throw new ParseError(token, 'invalid syntax in string', 'check the backslashes')
  return text
}

function undefinedFunction(token: Token, known: Iterable<string>): ParseError {
  const { text } = token
  const message = `function "${text}" not defined`
  const root = nearest(text, ['Args', 'Config', 'Request', 'Caller', 'Response'])
  if (root && root.toLowerCase() === text.toLowerCase()) {
    return new ParseError(token, message, `did you mean .${root}?`)
  }
  if (/^else?_?if$/i.test(text)) return new ParseError(token, message, 'write {{else if …}}')
  const close = nearest(text, known)
  return new ParseError(token, message, close ? `did you mean ${close}?` : 'a field begins with a dot')
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
  declare: 'only a variable $x can be assigned, not a field',
}

function unexpected(token: Token, context: string, hint?: string): ParseError {
  const shown = token.type === 'end' ? '}}' : token.text
  const cure = hint ?? OPERATORS[token.text] ?? OPERATORS[token.type]
  return new ParseError(token, `unexpected "${shown}" in ${context}`, cure)
}

/** Position of a pipeline, in Go's terms. */
type PipeContext =
  | 'command'
  | 'if'
  | 'with'
  | 'range'
  | 'parenthesized pipeline'
  | 'template clause'
  | 'block clause'

const OPERAND_START: ReadonlySet<TokenType> = new Set<TokenType>(
  '( bool char dot field identifier number nil rawString string variable'.split(' ') as TokenType[],
)

/** Reads pipelines, including the end of the action or the closing parenthesis. */
class PipeParser {
  private depth = 0

  constructor(
    private readonly reader: TokenReader,
    /** The visible variables; declarations are added. */
    private readonly variables: Scope,
    private readonly options: ParseOptions,
  ) {}

  pipeline(context: PipeContext): PipeNode {
    const { start } = this.reader.peekNonSpace()
    const pipe: PipeNode = { type: 'pipe', declarations: [], assign: false, commands: [], start, end: start }
    this.declarations(pipe, context)
    const last = context === 'parenthesized pipeline' ? ')' : 'end'
    for (;;) {
      const token = this.reader.peekNonSpace()
      if (token.type === last) {
        this.reader.next()
        checkCommands(pipe, context, token)
        pipe.end = pipe.commands[pipe.commands.length - 1]!.end
        return pipe
      }
      if (!OPERAND_START.has(token.type)) throw unexpected(token, context)
      pipe.commands.push(this.command())
    }
  }

  private declarations(pipe: PipeNode, context: PipeContext): void {
    while (this.reader.peekNonSpace().type === 'variable') {
      const back = this.reader.at
      const token = this.reader.next()
      const next = this.reader.peekNonSpace()
      const comma = next.type === 'symbol' && next.text === ','
      if (next.type !== 'assign' && next.type !== 'declare' && !comma) {
        this.reader.at = back
        return
      }
      this.reader.next()
      const { start, end, text } = token
      pipe.declarations.push({ type: 'variable', name: text, path: [], start, end })
      this.variables.declare(text)
      if (!comma) {
        pipe.assign = next.type === 'assign'
        return
      }
      if (context !== 'range' || pipe.declarations.length > 1) {
        throw new ParseError(token, `too many declarations in ${context}`)
      }
      const following = this.reader.peekNonSpace()
      if (following.type !== 'variable' && following.type !== 'end' && following.type !== ')') {
        throw new ParseError(following, 'range can only initialize variables')
      }
    }
  }

  private command(): CommandNode {
    const { start } = this.reader.peekNonSpace()
    const node: CommandNode = { operands: [], start, end: start }
    for (;;) {
      this.reader.peekNonSpace()
      const value = this.operand()
      if (value) {
        node.operands.push(value)
        node.end = value.end
      }
      const token = this.reader.next()
      if (token.type === 'space') continue
      if (token.type === 'end' || token.type === ')') this.reader.at--
      else if (token.type !== 'pipe') throw unexpected(token, 'operand')
      break
    }
    if (node.operands.length === 0) throw new ParseError({ start, end: start + 1 }, 'empty command')
    return node
  }

  private operand(): Operand | undefined {
    const node = this.term()
    if (!node || this.reader.peek().type !== 'field') return node
    const path: string[] = []
    let end = node.end
    while (this.reader.peek().type === 'field') {
      const token = this.reader.next()
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
        throw new ParseError(node, `unexpected . after term "${node.type}"`)
      default:
        return { type: 'chain', node, path, start: node.start, end }
    }
  }

  private term(): Operand | undefined {
    const token = this.reader.peekNonSpace()
    const { start, end, text } = token
    this.reader.at++
    switch (token.type) {
      case 'identifier':
        if (!this.options.functions.has(text)) throw undefinedFunction(token, this.options.functions.keys())
        return { type: 'identifier', name: text, start, end }
      case 'dot':
        return { type: 'dot', start, end }
      case 'nil':
        return { type: 'nil', start, end }
      case 'variable':
        return this.variable(token)
      case 'field':
        return { type: 'field', path: [text.slice(1)], start, end }
      case 'bool':
        return { type: 'bool', value: text === 'true', start, end }
      case 'number': {
        const number = parseNumber(text)
        if ('error' in number) throw new ParseError(token, number.error)
        return { type: 'number', value: number.value, start, end }
      }
      case 'char': {
        const code = unquoteChar(text)
        if (code === undefined) {
          throw new ParseError(
            token,
            `malformed character constant: ${text}`,
            'write strings in double quotes',
          )
        }
        return { type: 'number', value: BigInt(code), start, end }
      }
      case 'string':
      case 'rawString':
        return { type: 'string', value: stringValue(token), start, end }
      case '(':
        if (++this.depth > this.options.depth) {
          throw new ParseError(token, `parentheses are nested deeper than ${this.options.depth}`)
        }
        try {
          const pipe = this.pipeline('parenthesized pipeline')
          return { ...pipe, start, end: this.reader.lastEnd }
        } finally {
          this.depth--
        }
      default:
        this.reader.at--
        return undefined
    }
  }

  private variable({ text, start, end }: Token): VariableNode {
    if (this.variables.slotOf(text) === undefined) {
      const close = nearest(text, this.variables.names.slice(1))
      const hint = close ? `did you mean ${close}?` : `declare it first with {{${text} := …}}`
      throw new ParseError({ start, end }, `undefined variable "${text}"`, hint)
    }
    return { type: 'variable', name: text, path: [], start, end }
  }
}

function checkCommands(pipe: PipeNode, context: PipeContext, end: Token): void {
  if (pipe.commands.length === 0)
    throw new ParseError(end, `missing value for ${context}`, 'write a value, such as .Args.name')
  pipe.commands.forEach((command, index) => {
    const { type } = command.operands[0]!
    if (index > 0 && ['bool', 'dot', 'nil', 'number', 'string'].includes(type)) {
      const hint = 'each stage after | must be a function'
      throw new ParseError(command, `non executable command in pipeline stage ${index + 1}`, hint)
    }
  })
}
