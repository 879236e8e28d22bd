import type { CommandNode, Node, Operand, PipeNode, Span, Tree } from '../../template/index.ts'

/** A place in a template where something below the root is read. */
export interface Ref extends Span {
  /** Names from the root; `*` is some item of a list. */
  path: readonly string[]
  /** Where each name of `path` is written; undefined for those that `with` or a variable brought. */
  spans: readonly (Span | undefined)[]
}

/** `{{…}}` that prints a value. */
export interface Print extends Span {
  /** What it prints, when that is one reference, alone or through `toJSON`. */
  ref: Ref | undefined
  toJson: boolean
  /** The last function it calls, with its first argument when that is a text: `quote`, `printf %q`, `join ,`. */
  made: string | undefined
  of: Ref | undefined
  /** Inside of a JSON string; only in JSON bodies. */
  inString: boolean
  /** The characters of the template beside it; empty at its ends and beside other actions. */
  before: string
  after: string
  /** What stands there is known to be there: keys of the guarded paths, by `pathKey`. */
  guards: ReadonlySet<string>
}

export interface Visitor {
  ref(ref: Ref): void
  print(print: Print): void
  call(name: string, span: Span): void
}

export function pathKey(path: readonly string[]): string {
  return JSON.stringify(path)
}

/** A path below the root, or undefined for any other value. */
type Known = readonly string[] | undefined

/** Variables of a block, and those of the block around it. */
interface Vars {
  own: Map<string, Known>
  outer: Vars | undefined
}

function lookUp(vars: Vars, name: string): Known {
  for (let at: Vars | undefined = vars; at; at = at.outer) if (at.own.has(name)) return at.own.get(name)
  return undefined
}

/** Assigned anew, perhaps in one branch only: nothing is known of it any more. */
function forget(vars: Vars, name: string): void {
  for (let at: Vars | undefined = vars; at; at = at.outer) if (at.own.has(name)) at.own.set(name, undefined)
}

function block(outer?: Vars): Vars {
  return { own: new Map(), outer }
}

/** From here on nothing is known of the dot that a definition is called with. */
const MAX_CALLS = 200

interface Scope {
  dot: Known
  root: Known
  vars: Vars
  guards: ReadonlySet<string>
  /** Definitions that are being walked. */
  open: readonly string[]
}

/** Visits every reference, call and printed value of a template, with what `with`, `range` and variables mean. */
export function walk(tree: Tree, json: boolean, visitor: Visitor): void {
  let inString = false
  let escaped = false
  const called = new Set<string>()
  const seenNames = new Set<string>()

  const follow = (text: string) => {
    if (!json) return
    for (const char of text) {
      if (escaped) escaped = false
      else if (inString && char === '\\') escaped = true
      else if (char === '"') inString = !inString
    }
  }

  function list(nodes: readonly Node[], scope: Scope): void {
    for (const [i, node] of nodes.entries()) {
      switch (node.type) {
        case 'text':
          follow(node.text)
          break
        case 'action': {
          const value = pipe(node.pipe, scope)
          if (node.pipe.declarations.length > 0) break
          const [before, after] = [nodes[i - 1], nodes[i + 1]]
          const { start, end } = node
          visitor.print({
            start,
            end,
            ...printed(node.pipe, value),
            made: value.made,
            of: value.of,
            inString,
            before: before?.type === 'text' ? before.text.slice(-1) : '',
            after: after?.type === 'text' ? after.text.slice(0, 1) : '',
            guards: scope.guards,
          })
          break
        }
        case 'if':
        case 'with':
        case 'range':
          branch(node, scope)
          break
        case 'template':
          template(node, scope)
      }
    }
  }

  function branch(node: Extract<Node, { type: 'if' | 'with' | 'range' }>, outer: Scope): void {
    const guards = new Set(outer.guards)
    const scope = { ...outer, vars: block(outer.vars), guards }
    const { ref } = pipe(node.pipe, scope, (each) => guards.add(pathKey(each.path)))
    const inner = { ...scope, vars: block(scope.vars) }
    if (node.type === 'with') inner.dot = ref?.path
    if (node.type === 'range') {
      inner.dot = ref && [...ref.path, '*']
      for (const [i, { name }] of node.pipe.declarations.entries())
        inner.vars.own.set(name, i === node.pipe.declarations.length - 1 ? inner.dot : undefined)
    }
    const before = inString
    list(node.list, inner)
    const behind = inString
    if (!node.elseList) return
    inString = before
    list(node.elseList, { ...scope, vars: block(scope.vars) })
    inString = behind
  }

  function template(node: Extract<Node, { type: 'template' }>, scope: Scope): void {
    const value = node.pipe && pipe(node.pipe, scope)
    const body = tree.definitions.get(node.name)
    if (!body || scope.open.includes(node.name) || scope.open.length > 20) return
    const dot = called.size < MAX_CALLS ? value?.ref?.path : undefined
    const key = `${node.name} ${inString} ${pathKey(dot ?? ['?'])}`
    if (called.has(key)) return
    called.add(key)
    seenNames.add(node.name)
    list(body, {
      dot,
      root: dot,
      vars: block(),
      guards: scope.guards,
      open: [...scope.open, node.name],
    })
  }

  interface Value {
    ref?: Ref | undefined
    toJson?: boolean
    made?: string
    /** What the function `made` was given last. */
    of?: Ref | undefined
  }

  function pipe(node: PipeNode, scope: Scope, seen?: (ref: Ref) => void): Value {
    let value: Value | undefined
    for (const command of node.commands) value = run(command, value, scope, seen)
    for (const { name } of node.declarations) {
      if (node.assign) forget(scope.vars, name)
      else scope.vars.own.set(name, value?.ref?.path)
    }
    return value ?? {}
  }

  function run(
    command: CommandNode,
    piped: Value | undefined,
    scope: Scope,
    seen?: (ref: Ref) => void,
  ): Value {
    const [first, ...args] = command.operands
    if (first?.type !== 'identifier') {
      const value = first ? operand(first, scope, seen) : {}
      for (const arg of args) operand(arg, scope, seen)
      return value
    }
    visitor.call(first.name, first)
    if (first.name === 'index' && args[0]) {
      const keys = args.slice(1)
      const base = quietly(args[0], scope)
      if (base && keys.length > 0 && keys.every((key) => key.type === 'string' || key.type === 'number')) {
        const ref = indexed(base, keys, command)
        visitor.ref(ref)
        seen?.(ref)
        return { ref }
      }
    }
    const values = args.map((arg) => operand(arg, scope, seen))
    if (first.name === 'toJSON') return { ref: (values[0] ?? piped)?.ref, toJson: true }
    const text = args[0]?.type === 'string' ? ` ${args[0].value}` : ''
    return { made: first.name + text, of: (piped ?? values.at(-1))?.ref }
  }

  /** The reference that an operand is, without visiting it; undefined for anything else. */
  function quietly(node: Operand, scope: Scope): Ref | undefined {
    const { start, end } = node
    switch (node.type) {
      case 'dot':
        return scope.dot && { path: scope.dot, spans: scope.dot.map(() => undefined), start, end }
      case 'field':
        return scope.dot && extended(scope.dot, node.path, node)
      case 'variable': {
        const base = node.name === '$' ? scope.root : lookUp(scope.vars, node.name)
        return base && extended(base, node.path, node)
      }
      default:
        return undefined
    }
  }

  function operand(node: Operand, scope: Scope, seen?: (ref: Ref) => void): Value {
    if (node.type === 'pipe') return pipe(node, scope, seen)
    if (node.type === 'identifier') {
      visitor.call(node.name, node)
      return {}
    }
    let ref = quietly(node, scope)
    if (node.type === 'chain') {
      const base = operand(node.node, scope, seen).ref
      ref = base && extended(base.path, node.path, node)
    }
    if (!ref) return {}
    visitor.ref(ref)
    seen?.(ref)
    return { ref }
  }

  list(tree.root, { dot: [], root: [], vars: block(), guards: new Set(), open: [] })
  // Definitions that nothing calls are read too, with a dot of which nothing is known.
  for (const [name, body] of tree.definitions)
    if (name !== '' && body !== tree.root && !seenNames.has(name))
      list(body, { dot: undefined, root: undefined, vars: block(), guards: new Set(), open: [name] })
}

function printed(pipe: PipeNode, { ref, toJson = false }: { ref?: Ref | undefined; toJson?: boolean }) {
  const single = pipe.commands.length === 1 || toJson
  return { ref: single ? ref : undefined, toJson }
}

/** The names at the end of the node's text are those of `path`, each behind a dot. */
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
