/** The parsed template. Every node has its position: UTF-16 offsets into the source, `end` exclusive. */
export interface Span {
  start: number
  end: number
}

export interface TextNode extends Span {
  type: 'text'
  /** After trimming. */
  text: string
}
/** `{{pipeline}}`: prints its value unless it declares or assigns a variable. */
export interface ActionNode extends Span {
  type: 'action'
  pipe: PipeNode
}
export interface BranchNode extends Span {
  type: 'if' | 'with' | 'range'
  pipe: PipeNode
  list: Node[]
  elseList: Node[] | undefined
}
export interface TemplateNode extends Span {
  type: 'template'
  name: string
  pipe: PipeNode | undefined
}
interface BreakNode extends Span {
  type: 'break' | 'continue'
}
export type Node = TextNode | ActionNode | BranchNode | TemplateNode | BreakNode

export interface PipeNode extends Span {
  type: 'pipe'
  declarations: VariableNode[]
  /** `=` instead of `:=`. */
  assign: boolean
  commands: CommandNode[]
}
/** One stage of a pipeline: the first operand is evaluated, the others are its arguments. */
export interface CommandNode extends Span {
  operands: Operand[]
}

/** `$`, `$x`, `$x.a.b`; `name` includes the `$`. */
export interface VariableNode extends Span {
  type: 'variable'
  name: string
  path: string[]
}
/** `.a.b` */
interface FieldNode extends Span {
  type: 'field'
  path: string[]
}
/** A function's name. */
export interface IdentifierNode extends Span {
  type: 'identifier'
  name: string
}
/** `(pipeline).a.b` or `function.a.b`. */
interface ChainNode extends Span {
  type: 'chain'
  node: Operand
  path: string[]
}
interface DotNode extends Span {
  type: 'dot'
}
interface NilNode extends Span {
  type: 'nil'
}
/** A constant; Go's ints are bigints, its floats numbers. */
interface ConstantNode extends Span {
  type: 'number' | 'string' | 'bool'
  value: Constant
}
export type Constant = bigint | number | string | boolean | Complex
export type Operand =
  | VariableNode
  | FieldNode
  | IdentifierNode
  | ChainNode
  | DotNode
  | NilNode
  | ConstantNode
  | PipeNode

/** Go's complex128, created only by constants. */
export class Complex {
  constructor(
    readonly re: number,
    readonly im: number,
  ) {}
}

/** A whole template: the main list, and the lists of `define` and `block`. */
export interface Tree {
  root: Node[]
  definitions: Map<string, Node[]>
}

/** Whether it contains only white space and comments. */
export function isEmpty(list: readonly Node[]): boolean {
  return list.every((node) => node.type === 'text' && /^\s*$/.test(node.text))
}

/** Length of the source of the nodes, including the last `end`. */
export function lengthOf(list: readonly Node[]): number {
  return list.length > 0 ? endOf(list) - list[0]!.start : 0
}

/** A block's own position is that of its first action. */
function endOf(list: readonly Node[]): number {
  const last = list[list.length - 1]
  if (!last) return 0
  return 'list' in last ? Math.max(last.end, endOf(last.list), endOf(last.elseList ?? [])) : last.end
}

/** Calls back for each node of a list, in any branch; outer ones first. */
export function eachNode(list: readonly Node[], visit: (node: Node) => void): void {
  for (const node of list) {
    visit(node)
    if (!('list' in node)) continue
    eachNode(node.list, visit)
    eachNode(node.elseList ?? [], visit)
  }
}

/** Whether a node of a list, in any branch, passes the test. */
export function someNode(list: readonly Node[], test: (node: Node) => boolean): boolean {
  let isFound = false
  eachNode(list, (node) => {
    isFound ||= test(node)
  })
  return isFound
}

/** Whether the pipeline calls one of these functions at any depth. */
export function callsAny(pipe: PipeNode, names: ReadonlySet<string>): boolean {
  const within = (node: Operand): boolean => {
    if (node.type === 'identifier') return names.has(node.name)
    if (node.type === 'chain') return within(node.node)
    return node.type === 'pipe' && callsAny(node, names)
  }
  return pipe.commands.some(({ operands }) => operands.some(within))
}
