import { execFault, Fault } from './errors.ts'
import { truth } from './kinds.ts'
import { type ActionNode, type BranchNode, callsAny, type TemplateNode } from './nodes.ts'
import type { Eval, Run, Sink, State } from './state.ts'
import { type Items, itemsOf } from './values.ts'

/** What the nodes of a template become: functions that write to the state. */

/** Functions with which a template provides for a missing value itself. */
const PROVIDING: ReadonlySet<string> = new Set(
  'default or and coalesce ternary empty eq ne not any all'.split(' '),
)

/** An action that prints, behind the text that precedes it. */
export function printing(run: Eval, sink: Sink, node: ActionNode, before: string): Run {
  const strict = !callsAny(node.pipe, PROVIDING)
  return (state, dot) => {
    state.out += before
    state.at = node
    state.strict = strict
    const value = run(state, dot)
    state.strict = false
    state.at = node
    const text = sink(state, value)
    if (text.length > 1024) state.charge(text.length >> 8)
    state.out += text
    if (state.out.length > state.max) state.checkSize()
    return state.steps < state.look ? state.pause() : 0
  }
}

export function sequence(runs: readonly Run[]): Run {
  const [first, second] = runs
  if (first === undefined) return () => 0
  if (second === undefined) return first
  if (runs.length === 2) {
    return (state, dot) => {
      const signal = first(state, dot)
      if (signal === 0) return second(state, dot)
      return typeof signal === 'number' ? signal : signal.then((later) => later || second(state, dot))
    }
  }
  return (state, dot) => runFrom(runs, 0, state, dot)
}

function runFrom(runs: readonly Run[], from: number, state: State, dot: unknown): ReturnType<Run> {
  for (let at = from; at < runs.length; at++) {
    const signal = runs[at]!(state, dot)
    if (signal === 0) continue
    if (typeof signal === 'number') return signal
    return signal.then((later) => later || runFrom(runs, at + 1, state, dot))
  }
  return 0
}

export function ranging(
  list: Eval,
  body: Run,
  otherwise: Run | undefined,
  first: number | undefined,
  second: number | undefined,
  cost: number,
  node: BranchNode,
  go: boolean,
  missing: boolean,
): Run {
  const two = node.pipe.declarations.length > 1

  /** The rounds from one on. */
  function rounds(items: Items, from: number, state: State): ReturnType<Run> {
    for (let at = from; at < items.size; at++) {
      state.charge(cost)
      const item = items.item(at)
      if (two) {
        state.vars[first!] = items.key(at)
        state.vars[second!] = item
      } else if (first !== undefined) state.vars[first] = item
      let signal = body(state, item)
      if (signal === 0 && state.steps < state.look) signal = state.pause()
      if (typeof signal !== 'number') {
        return signal.then((later) => (later === 1 ? 0 : rounds(items, at + 1, state)))
      }
      if (state.out.length > state.max) state.checkSize()
      if (signal === 1) break
    }
    return 0
  }

  return (state: State, dot) => {
    state.at = node
    const value = list(state, dot)
    if (missing) throw execFault('undefined variable', node.pipe)
    if (two && go && typeof value === 'bigint') {
      throw execFault("can't use a number to iterate over more than one variable", node.pipe)
    }
    // As in Go, the variables hold the whole value where no round sets them.
    if (first !== undefined) state.vars[first] = value
    if (second !== undefined) state.vars[second] = value
    const items = itemsOf(value, go, state)
    if (items.size > 0) return rounds(items, 0, state)
    return otherwise ? otherwise(state, dot) : 0
  }
}

/** `if` and `with`; in a `with` the value becomes dot. */
export function branching(test: Eval, yes: Run, no: Run | undefined, node: BranchNode): Run {
  const takesDot = node.type === 'with'
  return (state, dot) => {
    state.at = node
    const value = test(state, dot)
    if (truth(value)) return yes(state, takesDot ? value : dot)
    return no ? no(state, dot) : 0
  }
}

/** A definition that can be called. It may be compiled after the call to it, so it is read when it runs. */
export interface Callable {
  run: Run
  slots: number
  /** How many actions one call is worth. */
  cost: number
}

/** Runs a definition with variables of its own, within the limit of depth. */
export function calling(callable: Callable, argument: Eval | undefined, node: TemplateNode): Run {
  return (state, dot) => {
    state.at = node
    const data = argument ? argument(state, dot) : undefined
    if (++state.depth > state.limits.depth) {
      throw new Fault('limit', `exceeded maximum template depth (${state.limits.depth})`, node)
    }
    state.charge(callable.cost + 1)
    const saved = state.vars
    state.vars = new Array(callable.slots)
    state.vars[0] = data
    const signal = callable.run(state, data)
    const leave = (): ReturnType<Run> => {
      state.vars = saved
      state.depth--
      state.checkSize()
      return state.steps < state.look ? state.pause() : 0
    }
    return typeof signal === 'number' ? leave() : signal.then(leave)
  }
}
