import { branching, type Callable, calling, printing, type Run, ranging, sequence } from './exec.ts'
import { compilePipe, compilePipeline, failing } from './expression.ts'
import { ANYTHING, CONSTANT, type Flow, flowKey, someItem, TAINTED } from './flow.ts'
import {
  type ActionNode,
  type BranchNode,
  callsTemplates,
  lengthOf,
  type Node,
  type Span,
  type TemplateNode,
  type Tree,
} from './node.ts'
import type { Context, PlaceRules } from './places/rules.ts'
import { type Compilation, declare, leaveScope, slotOf, type Unit, widen } from './unit.ts'

/** A definition compiled for the context and the argument that it is called with. */
interface Instance extends Callable {
  end: Context
}

/**
 * Source, in UTF-16 units beside the template's own length, that definitions are compiled of, once for each
 * argument: from there on all calls of a definition share what is known of their argument.
 */
const COPIES = 65_536

/** What a list of nodes becomes. */
interface Block {
  run: Run
  cost: number
  end: Context
}

/** Passes over a definition whose variables turn out to hold more than was thought. */
const MAX_PASSES = 4

/** Compiles the whole tree to one function that writes to the state. */
export function compileTree(tree: Tree, compilation: Compilation, rules: PlaceRules): Run {
  const { changes } = compilation
  for (;;) {
    const { tainted, built } = changes
    const run = compileOnce(tree, compilation, rules)
    // What changes a map counts from the start, also for what was compiled before it was met.
    if (changes.tainted === tainted && changes.built === built) return run
  }
}

function compileOnce(tree: Tree, compilation: Compilation, rules: PlaceRules): Run {
  const instances = new Map<string, Instance>()
  /** Definitions that are being compiled. */
  const running: string[] = []
  let room = [tree.root, ...tree.definitions.values()].reduce((sum, list) => sum + lengthOf(list), COPIES)

  const compileDefinition = (list: readonly Node[], dot: Flow, isRoot: boolean, start: Context): Instance => {
    const flows: Flow[] = []
    for (let pass = 1; ; pass++) {
      const unit: Unit = {
        ...compilation,
        scope: ['$'],
        slotsOf: new Map([['$', [0]]]),
        slots: 1,
        flows,
        unstable: false,
        dot,
        dotIsRoot: isRoot,
        dollarIsRoot: isRoot,
      }
      flows[0] = flows[0] ?? dot
      const body = compileList(list, unit, start)
      compilation.dynamic ||= unit.dynamic
      if (!unit.unstable) return { run: body.run, slots: unit.slots, cost: body.cost, end: body.end }
      if (pass >= MAX_PASSES) flows.fill(ANYTHING, 1)
    }
  }

  const instanceOf = (name: string, flow: Flow, atRoot: boolean, start: Context): Instance | undefined => {
    const list = tree.definitions.get(name)
    if (!list) return undefined
    let [dot, isRoot] = [flow, atRoot]
    if (running.includes(name) || room < 0) {
      // Paths that grow with each call would never end.
      dot = { ...someItem(dot), form: dot.form === 'raw' ? 'text' : dot.form }
      isRoot = false
    }
    const key = `${name}\n${isRoot} ${start}\n${flowKey(dot)}`
    const known = instances.get(key)
    if (known) return known
    // A recursive call is taken to end where it starts, which is checked below.
    const instance: Instance = { run: () => 0, slots: 1, cost: 1, end: start }
    instances.set(key, instance)
    room -= lengthOf(list) + 32
    running.push(name)
    const compiled = compileDefinition(list, dot, isRoot, start)
    running.pop()
    if (compiled.end !== start && compiled.end !== rules.dead && callsTemplates(list)) {
      const span = list[0] ?? { start: 0, end: 0 }
      const message = `template "${name}" calls itself and ends in a different context`
      compilation.sink.add('context', span, message, 'let it begin and end in the same place')
    }
    return Object.assign(instance, compiled)
  }

  function compileList(list: readonly Node[], unit: Unit, start: Context): Block {
    const runs: Run[] = []
    let context = start
    let cost = 0
    let text = ''
    const flush = () => {
      if (text === '') return
      const written = text
      runs.push((state) => {
        state.out += written
        return 0
      })
      text = ''
    }
    for (const node of list) {
      switch (node.type) {
        case 'text':
          text += node.text
          context = rules.text(context, node.text, node)
          break
        case 'action': {
          cost++
          const action = compileAction(node, unit, context, text)
          text = ''
          runs.push(action.run)
          context = action.end
          break
        }
        case 'break':
        case 'continue': {
          flush()
          const signal = node.type === 'break' ? 1 : 2
          exits[exits.length - 1]?.push({ context, span: node })
          runs.push(() => signal)
          context = rules.dead
          break
        }
        default: {
          flush()
          const block =
            node.type === 'template'
              ? compileTemplate(node, unit, context)
              : compileBranch(node, unit, context)
          runs.push(block.run)
          cost += 1 + (node.type === 'if' || node.type === 'with' ? block.cost : 0)
          context = block.end
        }
      }
    }
    flush()
    return { run: sequence(runs), cost, end: context }
  }

  /** Contexts at `break` and `continue`, for each range that is open. */
  const exits: { context: Context; span: Span }[][] = []

  function compileAction(
    node: ActionNode,
    unit: Unit,
    context: Context,
    before: string,
  ): { run: Run; end: Context } {
    const { run, flow } = compilePipe(node.pipe, unit)
    if (node.pipe.declarations.length > 0) {
      return {
        run: (state, dot) => {
          state.out += before
          state.at = node
          run(state, dot)
          return state.steps < state.look ? state.pause() : 0
        },
        end: context,
      }
    }
    const { sink, end } = rules.value(context, flow, node)
    return { run: printing(run, sink, node, before), end }
  }

  function scoped<T>(unit: Unit, body: () => T): T {
    const mark = unit.scope.length
    const { dot, dotIsRoot } = unit
    const result = body()
    leaveScope(unit, mark)
    unit.dot = dot
    unit.dotIsRoot = dotIsRoot
    return result
  }

  function compileBranch(node: BranchNode, unit: Unit, start: Context): Block {
    return scoped(unit, () =>
      node.type === 'range' ? compileRange(node, unit, start) : compileIf(node, unit, start),
    )
  }

  function compileIf(node: BranchNode, unit: Unit, start: Context): Block {
    const { run: test, flow } = compilePipe(node.pipe, unit)
    const inner = scoped(unit, () => {
      if (node.type === 'with') {
        unit.dot = flow
        unit.dotIsRoot = false
      }
      return compileList(node.list, unit, start)
    })
    const other = node.elseList && scoped(unit, () => compileList(node.elseList!, unit, start))
    const end = merge(inner.end, other?.end ?? start, node)
    const cost = inner.cost + (other?.cost ?? 0)
    return { run: branching(test, inner.run, other?.run, node), cost, end }
  }

  function merge(a: Context, b: Context, node: BranchNode): Context {
    const joined = rules.join(a, b)
    if (joined !== undefined) return joined
    const message = `the branches of {{${node.type}}} end in different contexts: ${rules.name(a)} and ${rules.name(b)}`
    compilation.sink.add('context', node, message, 'let all branches end in the same place')
    return a
  }

  function compileRange(node: BranchNode, unit: Unit, start: Context): Block {
    const { run: list, flow } = compilePipeline(node.pipe, unit)
    const item = someItem(flow)
    const variables = node.pipe.declarations.map(({ name }, at, all) => {
      const of = at === all.length - 1 ? item : flow.tainted ? TAINTED : CONSTANT
      if (!node.pipe.assign) return declare(unit, name, of)
      const slot = slotOf(unit, name)
      if (slot !== undefined) widen(unit, slot, of)
      return slot
    })
    // Where rounds can follow one another, the body starts where it may have ended.
    let from = start
    let body = { run: (() => 0) as Run, cost: 0, end: start }
    for (let round = 0; round < 3; round++) {
      const loop = from
      exits.push([])
      body = scoped(unit, () => {
        unit.dot = item
        unit.dotIsRoot = false
        return compileList(node.list, unit, loop)
      })
      let end = merge(body.end, from, node)
      for (const exit of exits.pop()!) {
        const joined = rules.join(end, exit.context)
        if (joined === undefined) {
          compilation.sink.add('context', exit.span, 'the range is left in a different context', CONTEXT_HINT)
        } else end = joined
      }
      if (end === from || end === rules.dead) break
      from = end
    }
    const other = node.elseList && scoped(unit, () => compileList(node.elseList!, unit, start))
    const end = merge(from, other?.end ?? start, node)
    const [first, second] = variables
    const missing = variables.some((slot) => slot === undefined)
    return {
      run: ranging(list, body.run, other?.run, first, second, 1 + body.cost, node, unit.go, missing),
      cost: 1 + (other?.cost ?? 0),
      end,
    }
  }

  function compileTemplate(node: TemplateNode, unit: Unit, start: Context): Block {
    const argument = node.pipe && scoped(unit, () => compilePipe(node.pipe!, unit))
    const flow = argument?.flow ?? CONSTANT
    const isRoot = flow.path?.length === 0
    const instance = instanceOf(node.name, flow, isRoot && compilation.roots === undefined, start)
    if (!instance) {
      const message = `template "${node.name}" not defined`
      if (!unit.go) compilation.sink.add('parse', node, message, 'add a {{define}} with this name')
      return { run: failing(node, message).run as Run, cost: 1, end: start }
    }
    return {
      run: calling(instance, argument?.run, node),
      cost: 1,
      end: instance.end,
    }
  }

  const dot: Flow = { tainted: true, form: 'text', path: [] }
  const main = compileDefinition(tree.root, dot, true, rules.start)
  rules.finish(main.end, tree.root)
  return (state) => {
    state.charge(main.cost)
    state.vars = new Array(main.slots)
    state.vars[0] = state.root
    return main.run(state, state.root)
  }
}

const CONTEXT_HINT = 'let the loop begin, end and be left in the same place'
