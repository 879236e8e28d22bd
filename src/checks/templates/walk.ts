import type { Report } from '../../findings/index.ts'
import {
  type ActionNode,
  type BranchNode,
  type CommandNode,
  eachNode,
  type Node,
  type Operand,
  type PipeNode,
  type Span,
  type TemplateNode,
  type Tree,
} from '../../template/index.ts'

/** A finding in one template. */
export interface TemplateReport extends Omit<Report, 'path' | 'isKey' | 'start' | 'end' | 'fix' | 'related'> {
  /** Position in the template. */
  at: Span
  /** Replacement for the text there. */
  fix?: string | undefined
}

export type TemplateReporter = (report: TemplateReport) => void

/** A position in a template that reads something below the root. */
export interface Ref extends Span {
  /** Names from the root; `*` is a list item. */
  path: readonly string[]
  /** Positions of the names in `path`; undefined for those from `with` or a variable. */
  spans: readonly (Span | undefined)[]
}

/** `{{…}}` that prints a value. */
export interface Print extends Span {
  /** The printed reference, if only that, alone or through `toJSON`. */
  ref: Ref | undefined
  toJson: boolean
  /** The last function called, with its first text argument: `quote`, `printf %q`, `join ,`. */
  calledFunction: string | undefined
  calledOn: Ref | undefined
  /** Whether it is inside a JSON string; only in JSON bodies. */
  inString: boolean
  /** Adjacent characters of the template; empty at its ends and beside other actions. */
  before: string
  after: string
  /** Paths known to be present here, by `pathKey`. */
  guards: ReadonlySet<string>
}

interface Visitor {
  ref(ref: Ref): void
  print(print: Print): void
  call(name: string, span: Span): void
}

export function pathKey(path: readonly string[]): string {
  return JSON.stringify(path)
}

/** A path below the root, or undefined for another value. */
type Known = readonly string[] | undefined

/** Visible variables; a block's scope has the surrounding one as prototype. */
type Vars = Record<string, { path: Known }>

function innerVars(outer: Vars | null = null): Vars {
  return Object.create(outer)
}

interface Scope {
  dot: Known
  root: Known
  vars: Vars
  guards: ReadonlySet<string>
  /** Definitions being walked. */
  open: readonly string[]
}

/** Result of a pipeline or operand. */
interface Value {
  ref?: Ref | undefined
  toJson?: boolean
  calledFunction?: string
  /** The last argument of the function in `calledFunction`. */
  calledOn?: Ref | undefined
}

type OnRef = ((ref: Ref) => void) | undefined

/** Visits every reference, call and printed value of a template, resolving `with`, `range` and variables. */
export function walk(tree: Tree, json: boolean, visitor: Visitor): void {
  new Walker(tree, json, visitor).run()
}

class Walker {
  private inString = false
  private escaped = false
  private readonly called = new Set<string>()
  private readonly names = new Set<string>()

  constructor(
    private readonly tree: Tree,
    private readonly json: boolean,
    private readonly visitor: Visitor,
  ) {}

  run(): void {
    const { root, definitions } = this.tree
    this.list(root, { dot: [], root: [], vars: innerVars(), guards: new Set(), open: [] })
    // Uncalled definitions are visited too, with an unknown dot.
    for (const [name, body] of definitions)
      if (name !== '' && body !== root && !this.names.has(name))
        this.list(body, {
          dot: undefined,
          root: undefined,
          vars: innerVars(),
          guards: new Set(),
          open: [name],
        })
  }

  private text(text: string): void {
    if (!this.json) return
    for (const char of text) {
      if (this.escaped) this.escaped = false
      else if (this.inString && char === '\\') this.escaped = true
      else if (char === '"') this.inString = !this.inString
    }
  }

  private list(nodes: readonly Node[], scope: Scope): void {
    for (const [i, node] of nodes.entries()) {
      if (node.type === 'text') this.text(node.text)
      else if (node.type === 'action') this.action(node, nodes[i - 1], nodes[i + 1], scope)
      else if (node.type === 'template') this.template(node, scope)
      else if ('list' in node) this.branch(node, scope)
    }
  }

  private action(node: ActionNode, before: Node | undefined, after: Node | undefined, scope: Scope): void {
    const { start, end, pipe } = node
    const { ref, toJson = false, calledFunction, calledOn } = this.pipe(pipe, scope)
    if (pipe.declarations.length > 0) return
    this.visitor.print({
      start,
      end,
      ref: pipe.commands.length === 1 || toJson ? ref : undefined,
      toJson,
      calledFunction,
      calledOn,
      inString: this.inString,
      before: before?.type === 'text' ? before.text.slice(-1) : '',
      after: after?.type === 'text' ? after.text.slice(0, 1) : '',
      guards: scope.guards,
    })
  }

  private branch(node: BranchNode, outer: Scope): void {
    const guards = new Set(outer.guards)
    const scope = { ...outer, vars: innerVars(outer.vars), guards }
    const { ref } = this.pipe(node.pipe, scope, (each) => guards.add(pathKey(each.path)))
    const inner = { ...scope, vars: innerVars(scope.vars) }
    if (node.type === 'with') inner.dot = ref?.path
    if (node.type === 'range') {
      inner.dot = ref && [...ref.path, '*']
      const { declarations } = node.pipe
      for (const [i, { name }] of declarations.entries())
        inner.vars[name] = { path: i === declarations.length - 1 ? inner.dot : undefined }
    }
    const before = this.inString
    this.list(node.list, inner)
    const behind = this.inString
    if (!node.elseList) return
    this.inString = before
    this.list(node.elseList, { ...scope, vars: innerVars(scope.vars) })
    this.inString = behind
  }

  private template(node: TemplateNode, scope: Scope): void {
    const value = node.pipe && this.pipe(node.pipe, scope)
    const body = this.tree.definitions.get(node.name)
    if (!body || scope.open.includes(node.name) || scope.open.length > 20) return
    // Beyond this depth, the dot of a definition is unknown.
    const dot = this.called.size < 200 ? value?.ref?.path : undefined
    const key = `${node.name} ${this.inString} ${pathKey(dot ?? ['?'])}`
    if (this.called.has(key)) return
    this.called.add(key)
    this.names.add(node.name)
    const open = [...scope.open, node.name]
    this.list(body, { dot, root: dot, vars: innerVars(), guards: scope.guards, open })
  }

  private pipe({ commands, declarations, assign }: PipeNode, scope: Scope, onRef?: OnRef): Value {
    let value: Value | undefined
    for (const command of commands) value = this.command(command, value, scope, onRef)
    for (const { name } of declarations) {
      const known = scope.vars[name]
      if (!assign) scope.vars[name] = { path: value?.ref?.path }
      // After another assignment, perhaps in one branch, its value is unknown.
      else if (known) known.path = undefined
    }
    return value ?? {}
  }

  private command(command: CommandNode, piped: Value | undefined, scope: Scope, onRef: OnRef): Value {
    const [first, ...args] = command.operands
    if (first?.type !== 'identifier') {
      const value = first ? this.operand(first, scope, onRef) : {}
      for (const arg of args) this.operand(arg, scope, onRef)
      return value
    }
    this.visitor.call(first.name, first)
    if (first.name === 'index' && args[0]) {
      const keys = args.slice(1)
      const base = this.reference(args[0], scope)
      if (base && keys.length > 0 && keys.every((key) => key.type === 'string' || key.type === 'number'))
        return this.visit(indexed(base, keys, command), onRef)
    }
    const values = args.map((arg) => this.operand(arg, scope, onRef))
    if (first.name === 'toJSON') return { ref: (values[0] ?? piped)?.ref, toJson: true }
    const text = args[0]?.type === 'string' ? ` ${args[0].value}` : ''
    return { calledFunction: first.name + text, calledOn: (piped ?? values.at(-1))?.ref }
  }

  private operand(node: Operand, scope: Scope, onRef: OnRef): Value {
    if (node.type === 'pipe') return this.pipe(node, scope, onRef)
    if (node.type === 'identifier') {
      this.visitor.call(node.name, node)
      return {}
    }
    if (node.type === 'chain') {
      const base = this.operand(node.node, scope, onRef).ref
      return base ? this.visit(extended(base.path, node.path, node), onRef) : {}
    }
    const ref = this.reference(node, scope)
    return ref ? this.visit(ref, onRef) : {}
  }

  private visit(ref: Ref, onRef: OnRef): Value {
    this.visitor.ref(ref)
    onRef?.(ref)
    return { ref }
  }

  /** The reference of an operand, without visiting it; undefined for other operands. */
  private reference(node: Operand, { dot, root, vars }: Scope): Ref | undefined {
    const { start, end } = node
    if (node.type === 'dot') return dot && { path: dot, spans: dot.map(() => undefined), start, end }
    if (node.type === 'field') return dot && extended(dot, node.path, node)
    if (node.type !== 'variable') return undefined
    const base = node.name === '$' ? root : vars[node.name]?.path
    return base && extended(base, node.path, node)
  }
}

/** The last names of `path` are those in the node's text, each after a dot. */
function extended(base: readonly string[], path: readonly string[], { start, end }: Span): Ref {
  const spans: (Span | undefined)[] = []
  let at = end
  for (const name of path.toReversed()) {
    spans.unshift({ start: at - name.length, end: at })
    at -= name.length + 1
  }
  return { path: [...base, ...path], spans: [...base.map(() => undefined), ...spans], start, end }
}

function indexed(base: Ref, keys: readonly Operand[], { start, end }: Span): Ref {
  const path = [...base.path]
  const spans = [...base.spans]
  for (const key of keys) {
    const isText = key.type === 'string'
    path.push(isText ? String(key.value) : '*')
    spans.push(isText ? { start: key.start + 1, end: key.end - 1 } : undefined)
  }
  return { path, spans, start, end }
}

/** Calls back for each node of a template and its definitions, in any branch; outer ones first. */
export function eachNodeOf({ root, definitions }: Tree, visit: (node: Node) => void): void {
  for (const list of new Set([root, ...definitions.values()])) eachNode(list, visit)
}

/** Calls back for each pipeline, also in parentheses, with its node; outer ones first. */
export function eachPipe(tree: Tree, visit: (pipe: PipeNode, node: Node) => void): void {
  const inPipe = (pipe: PipeNode, node: Node): void => {
    visit(pipe, node)
    for (const { operands } of pipe.commands) for (const operand of operands) inOperand(operand, node)
  }
  const inOperand = (operand: Operand, node: Node): void => {
    if (operand.type === 'pipe') inPipe(operand, node)
    else if (operand.type === 'chain') inOperand(operand.node, node)
  }
  eachNodeOf(tree, (node) => {
    if ('pipe' in node && node.pipe) inPipe(node.pipe, node)
  })
}

/** Whether the output may differ by more than its values. */
export function hasBranches({ root, definitions }: Tree): boolean {
  const within = (list: readonly Node[]) => list.some((node) => 'list' in node)
  return within(root) || [...definitions.values()].some(within)
}
