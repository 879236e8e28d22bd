import type { Token } from './lex.ts'
import { nearest } from './nearest.ts'
import type { ChainNode, CommandNode, Operand, PipeNode, VariableNode } from './nodes.ts'
import { parseNumber } from './number.ts'
import { unquoteChar } from './quote.ts'
import {
  ParseFail,
  type TokenReader,
  textOf,
  undefinedFunction,
  unexpected,
  type Variables,
} from './reader.ts'

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
