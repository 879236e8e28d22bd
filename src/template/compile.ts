import {
  actionRun,
  branchRun,
  type Callable,
  callRun,
  type Eval,
  type Run,
  rangeRun,
  sequence,
  textRun,
} from './exec.ts'
import { compilePipe, compilePipeline, mistake } from './expression.ts'
import { CONSTANT, type Flow, flowKey, pathFlow, someItem } from './flow.ts'
import { printDialect } from './fmt/print.ts'
import {
  type ActionNode,
  type BranchNode,
  lengthOf,
  type Node,
  type Span,
  someNode,
  type TemplateNode,
  type Tree,
} from './node.ts'
import type { Context, PlaceRules } from './places/rules.ts'
import { type Compilation, declare, Scope, type Unit, widen } from './unit.ts'
import { isMissing } from './values.ts'

/** A definition compiled for the context and argument of a call. */
interface Instance extends Callable {
  end: Context
}

/**
 * UTF-16 units of source that may be compiled again for other arguments, in addition to the length of the template;
 * after that, all calls of a definition share one instance.
 */
const INSTANCE_BUDGET = 65_536
/** The same for loops compiled again because they end in another context; per unit of the template, and in addition. */
const LOOP_BUDGET = 16

/** The context after `break` and `continue`. */
const UNREACHABLE: Context = 'unreachable'

/** A compiled list of nodes. */
interface Block {
  run: Run
  cost: number
  end: Context
}

/** Compiles the whole tree to a function that writes to the state. */
export function compileTree(tree: Tree, compilation: Compilation, rules: PlaceRules): Run {
  const { changes } = compilation
  for (;;) {
    const before = JSON.stringify(changes)
    const run = new Compiler(tree, compilation, rules).compile()
    // Changes of maps apply from the start, even to code compiled before they were found.
    if (JSON.stringify(changes) === before) return run
  }
}

/** Compiles the tree once, with the changes of maps known so far. */
class Compiler {
  private readonly instances = new Map<string, Instance>()
  /** Definitions being compiled. */
  private readonly running: string[] = []
  /** Contexts at `break` and `continue`, for each open range. */
  private readonly exits: { context: Context; span: Span }[][] = []
  private instanceBudget: number
  private loopBudget: number

  constructor(
    private readonly tree: Tree,
    private readonly compilation: Compilation,
    private readonly rules: PlaceRules,
  ) {
    const length = [tree.root, ...tree.definitions.values()].reduce((sum, list) => sum + lengthOf(list), 0)
    this.instanceBudget = length + INSTANCE_BUDGET
    this.loopBudget = LOOP_BUDGET * length + INSTANCE_BUDGET
  }

  compile(): Run {
    const { rules, tree } = this
    const dot = pathFlow([], this.compilation)
    const main = this.definition(tree.root, dot, rules.start)
    if (main.end !== UNREACHABLE) rules.ends(main.end, tree.root)
    return (state) => {
      state.charge(main.cost)
      state.vars = [state.root]
      return main.run(state, state.root)
    }
  }

  private definition(list: readonly Node[], dot: Flow, start: Context): Instance {
    const flows: Flow[] = []
    for (let pass = 1; ; pass++) {
      const unit: Unit = {
        ...this.compilation,
        scope: new Scope(),
        flows,
        unstable: false,
        dot,
      }
      flows[0] = flows[0] ?? dot
      const body = this.list(list, unit, start)
      this.compilation.dynamic ||= unit.dynamic
      if (!unit.unstable) return { run: body.run, cost: body.cost, end: body.end }
      // Joining more to an unrestricted flow changes nothing.
      const anything: Flow = { tainted: true, built: true, secret: unit.secrets !== undefined, form: 'text' }
      // Maximum passes over a definition whose variables turn out to hold more than assumed.
      if (pass >= 4) flows.fill(anything, 1)
    }
  }

  /** The definition for one call; undefined if it does not exist. */
  private instanceOf(name: string, flow: Flow, start: Context): Instance | undefined {
    const list = this.tree.definitions.get(name)
    if (!list) return undefined
    let dot = flow
    if (this.running.includes(name) || this.instanceBudget < 0) {
      // Paths that grow with each recursive call would never end.
      dot = { ...someItem(dot), form: dot.form === 'raw' ? 'text' : dot.form }
    }
    const key = `${name}\n${start}\n${flowKey(dot)}`
    const known = this.instances.get(key)
    if (known) return known
    // A recursive call is assumed to end where it starts, which is checked below.
    const instance: Instance = { run: () => 0, cost: 1, end: start }
    this.instances.set(key, instance)
    this.instanceBudget -= lengthOf(list) + 32
    this.running.push(name)
    const compiled = this.definition(list, dot, start)
    this.running.pop()
    if (
      compiled.end !== start &&
      compiled.end !== UNREACHABLE &&
      someNode(list, ({ type }) => type === 'template')
    ) {
      const span = list[0] ?? { start: 0, end: 0 }
      const message = `template "${name}" calls itself and ends in a different context`
      this.contextError(span, message, 'let it start and end in the same context')
    }
    return Object.assign(instance, compiled)
  }

  private list(list: readonly Node[], unit: Unit, start: Context): Block {
    const runs: Run[] = []
    let context = start
    let cost = 0
    let text = ''
    const flush = () => {
      if (text !== '') runs.push(textRun(text))
      text = ''
    }
    for (const node of list) {
      switch (node.type) {
        case 'text':
          text += node.text
          if (context !== UNREACHABLE) context = this.rules.text(context, node.text)
          break
        case 'action': {
          cost++
          const action = this.action(node, unit, context, text)
          text = ''
          runs.push(action.run)
          context = action.end
          break
        }
        case 'break':
        case 'continue': {
          flush()
          const signal = node.type === 'break' ? 1 : 2
          this.exits.at(-1)?.push({ context, span: node })
          runs.push(() => signal)
          context = UNREACHABLE
          break
        }
        default: {
          flush()
          const block = this.block(node, unit, context)
          runs.push(block.run)
          cost += 1 + (node.type === 'if' || node.type === 'with' ? block.cost : 0)
          context = block.end
        }
      }
    }
    flush()
    return { run: sequence(runs), cost, end: context }
  }

  private action(node: ActionNode, unit: Unit, context: Context, before: string): { run: Run; end: Context } {
    const { run, flow } = compilePipe(node.pipe, unit)
    if (context === UNREACHABLE || node.pipe.declarations.length > 0)
      return { run: actionRun(run, undefined, node, before), end: context }
    // A masked secret needs no escaping.
    const { sink, end } = this.rules.value(context, flow.secret ? { ...flow, form: 'url' } : flow, node)
    return { run: actionRun(flow.secret ? maskedEval(run) : run, sink, node, before), end }
  }

  private block(node: BranchNode | TemplateNode, unit: Unit, start: Context): Block {
    if (node.type === 'template') return this.template(node, unit, start)
    return inScope(unit, () =>
      node.type === 'range' ? this.range(node, unit, start) : this.branch(node, unit, start),
    )
  }

  /** `if` and `with`. */
  private branch(node: BranchNode, unit: Unit, start: Context): Block {
    const { run: test, flow } = compilePipe(node.pipe, unit)
    const inner = inScope(unit, () => {
      if (node.type === 'with') unit.dot = flow
      return this.list(node.list, unit, start)
    })
    const other = node.elseList && inScope(unit, () => this.list(node.elseList!, unit, start))
    const end = this.joinBranches(inner.end, other?.end ?? start, node)
    const cost = inner.cost + (other?.cost ?? 0)
    return { run: branchRun(test, inner.run, other?.run, node), cost, end }
  }

  private range(node: BranchNode, unit: Unit, start: Context): Block {
    const { run: list, flow } = compilePipeline(node.pipe, unit)
    const item = someItem(flow)
    const variables = node.pipe.declarations.map(({ name }, at, all) => {
      const held = at === all.length - 1 ? item : { ...item, built: false }
      if (!node.pipe.assign) return declare(unit, name, held)
      const slot = unit.scope.slotOf(name)
      if (slot !== undefined) widen(unit, slot, held)
      return slot
    })
    const { body, end: loopEnd } = this.loop(node, item, unit, start)
    const other = node.elseList && inScope(unit, () => this.list(node.elseList!, unit, start))
    const end = this.joinBranches(loopEnd, other?.end ?? start, node)
    const run = rangeRun(list, body.run, other?.run, variables, 1 + body.cost, node, unit.go)
    return { run, cost: 1 + (other?.cost ?? 0), end }
  }

  /** An iteration starts in the context in which the one before ended. */
  private loop(node: BranchNode, item: Flow, unit: Unit, start: Context): { body: Block; end: Context } {
    let from = start
    for (let round = 1; ; round++) {
      this.exits.push([])
      const body = inScope(unit, () => {
        unit.dot = item
        return this.list(node.list, unit, from)
      })
      let end = this.joinBranches(body.end, from, node)
      for (const exit of this.exits.pop()!) {
        const joined = this.joinContexts(end, exit.context)
        if (joined !== undefined) end = joined
        else this.contextError(exit.span, 'the range exits in a different context', CONTEXT_HINT)
      }
      if (end === from || end === UNREACHABLE) return { body, end: from }
      from = end
      if (round === 3 || !this.mayCompileAgain(node)) return { body, end: from }
    }
  }

  /** Reports the first loop that exceeds the budget. */
  private mayCompileAgain(node: BranchNode): boolean {
    const before = this.loopBudget
    this.loopBudget -= lengthOf(node.list)
    if (before >= 0 && this.loopBudget < 0)
      this.contextError(node, 'too many loops inside each other end in another context', CONTEXT_HINT)
    return this.loopBudget >= 0
  }

  private template(node: TemplateNode, unit: Unit, start: Context): Block {
    const argument = node.pipe && inScope(unit, () => compilePipe(node.pipe!, unit))
    const flow = argument?.flow ?? CONSTANT
    const instance = this.instanceOf(node.name, flow, start)
    if (instance) return { run: callRun(instance, argument?.run, node), cost: 1, end: instance.end }
    const message = `template "${node.name}" not defined`
    const { run } = mistake(unit, node, message, 'add a {{define}} with this name')
    return { run: run as Run, cost: 1, end: start }
  }

  private joinBranches(a: Context, b: Context, node: BranchNode): Context {
    const joined = this.joinContexts(a, b)
    if (joined !== undefined) return joined
    const { rules } = this
    const message = `the branches of {{${node.type}}} end in different contexts: ${rules.name(a)} and ${rules.name(b)}`
    this.contextError(node, message, 'let all branches end in the same context')
    return a
  }

  /** The context after two alternatives; undefined if they are incompatible. */
  private joinContexts(a: Context, b: Context): Context | undefined {
    if (a === b || b === UNREACHABLE) return a
    return a === UNREACHABLE ? b : this.rules.join(a, b)
  }

  private contextError(span: Span, message: string, hint: string): void {
    this.compilation.sink.add('context', span, message, hint)
  }
}

/** Reveals only whether a secret is empty. */
function maskedEval(run: Eval): Eval {
  return (state, dot) => {
    const value = run(state, dot)
    return isMissing(value) || printDialect(value) === '' ? value : '***'
  }
}

/** Compiles a body with its own variables and dot. */
function inScope<T>(unit: Unit, body: () => T): T {
  const mark = unit.scope.names.length
  const { dot } = unit
  const result = body()
  unit.scope.leave(mark)
  unit.dot = dot
  return result
}

const CONTEXT_HINT = 'let the loop start, end and exit in the same context'
