import { nextTurn, turnIsOver } from '../text/index.ts'
import { type Allowance, currentAllowance } from './allowance.ts'
import { execFault, Fault } from './errors.ts'
import type { Host } from './funcs/define.ts'
import { type ActionNode, type BranchNode, callsAny, type Span, type TemplateNode } from './node.ts'
import type { Limits, Place } from './types.ts'
import { type Items, itemsOf, truth } from './values.ts'

/** Steps after which the clock is looked at. */
const LOOK = 256

/** Steps that one call of a function may take: about 100 ms, for it cannot be interrupted. */
const CALL_STEPS = 100_000

/** One rendering under way. */
export class State implements Host {
  out = ''
  /** Of the template or definition that runs; the first is `$`. */
  vars: unknown[] = []
  /** How many template calls are open. */
  depth = 0
  /** What is being evaluated, for errors. */
  at: Span = START
  /** What is evaluated will be printed, so that a function which is given a missing value matters. */
  strict = false
  /** A header that must not be sent: a value in it is missing. */
  dropped = false
  /** Something was printed that is not empty. */
  printed = false
  /** Something was printed that is empty, before anything else. */
  emptied = false
  /** Start and end in `out` of each value that stands in a URL's path. */
  marks: number[] = []
  /** The actions that wrote them. */
  markSpans: Span[] = []
  /** A URL's origin is known to end before what comes next. */
  originChecked = false
  /** What is wrong with a value in the path of a URL, unless something worse is. */
  pathFault: Fault | undefined
  readonly go: boolean
  readonly max: number
  /** Steps that are left. */
  steps: number
  /** What they are taken from, too. */
  private readonly allowance: Allowance | undefined
  /** The clock is looked at when fewer are left. */
  look: number
  /** Fewer may not be left while a function works. */
  private least = 0
  /** Milliseconds that earlier turns took, and when this one began. */
  private worked = 0
  private began = 0

  constructor(
    /** The root; a Struct when it is closed. */
    readonly root: unknown,
    readonly place: Place,
    readonly limits: Limits,
    /** Whether it may pause. */
    inTurns: boolean,
  ) {
    this.go = place === 'go'
    this.max = limits.output
    this.allowance = inTurns ? undefined : currentAllowance()
    this.steps = Math.min(limits.steps, Math.max(0, this.allowance?.left ?? limits.steps))
    this.look = inTurns ? this.steps - LOOK : Number.NEGATIVE_INFINITY
    if (inTurns) this.began = performance.now()
  }

  /** Where a rendering may pause: when its turn is over, it goes on in another one. @throws Fault `limit` */
  pause(): Signal | Promise<Signal> {
    this.look = this.steps - LOOK
    const { time } = this.limits
    if (this.worked + performance.now() - this.began > time) {
      throw new Fault('limit', `more than ${time} ms`, undefined, TOO_MUCH)
    }
    return turnIsOver() ? this.goOnLater() : 0
  }

  private async goOnLater(): Promise<Signal> {
    this.worked += performance.now() - this.began
    await nextTurn()
    this.began = performance.now()
    return 0
  }

  /** From here to `callEnds` one function works. */
  callBegins(): void {
    this.least = Math.max(0, this.steps - CALL_STEPS)
  }

  callEnds(): void {
    this.least = 0
  }

  charge(steps: number): void {
    this.steps -= steps
    if (this.allowance) this.allowance.left -= steps
    if (this.steps >= this.least) return
    throw this.steps < 0
      ? new Fault('limit', `more than ${this.limits.steps} steps`, undefined, TOO_MUCH)
      : new Fault('limit', 'a value is too long for this function', undefined, 'pass less at a time')
  }

  missing(): void {
    if (!this.strict) return
    if (isHeader(this.place)) this.dropped = true
    else if (this.place === 'url') throw missingFault()
  }

  checkSize(): void {
    if (this.out.length > this.max) throw new Fault('limit', `the output is longer than ${this.max}`)
  }
}

/** Whether the place is the value of a header. */
export function isHeader(place: Place): boolean {
  return place === 'header' || place === 'cookie'
}

const START: Span = { start: 0, end: 0 }
const TOO_MUCH = 'a loop runs too many times, or a value is too long'

export function missingFault(): Fault {
  return new Fault(
    'missing',
    'a value in the URL is missing',
    undefined,
    'give the argument a default, or guard it',
  )
}

export type Eval = (state: State, dot: unknown) => unknown

/** What a node did: 0 went on, 1 `break`, 2 `continue`. */
type Signal = 0 | 1 | 2
/** A promise where the rendering paused: the node continues by itself, and what follows waits for it. */
export type Run = (state: State, dot: unknown) => Signal | Promise<Signal>

/** Makes the text that a value prints as, where it stands. */
export type Sink = (state: State, value: unknown) => string

/** What the nodes of a template become: functions that write to the state. */

/** Functions with which a template provides for a missing value itself. */
const PROVIDING: ReadonlySet<string> = new Set(
  'default or and coalesce ternary empty eq ne not any all'.split(' '),
)

/**
 * An action, behind the text that precedes it.
 * @param sink how its value is printed; undefined where it declares or assigns
 */
export function acting(run: Eval, sink: Sink | undefined, node: ActionNode, before: string): Run {
  const strict = sink !== undefined && !callsAny(node.pipe, PROVIDING)
  return (state, dot) => {
    state.out += before
    state.at = node
    state.strict = strict
    const value = run(state, dot)
    state.strict = false
    if (sink) {
      state.at = node
      const text = sink(state, value)
      if (text.length > 1024) state.charge(text.length >> 8)
      state.out += text
      if (state.out.length > state.max) state.checkSize()
    }
    return state.steps < state.look ? state.pause() : 0
  }
}

/** Text of the template itself. */
export function writing(text: string): Run {
  return (state) => {
    state.out += text
    return 0
  }
}

export function sequence(runs: readonly Run[]): Run {
  return runs.length === 1 ? runs[0]! : (state, dot) => runFrom(runs, 0, state, dot)
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

/**
 * `range`.
 * @param variables slots of its variables; undefined for one that is assigned and nowhere declared
 * @param cost steps of one round
 */
export function ranging(
  list: Eval,
  body: Run,
  otherwise: Run | undefined,
  variables: readonly (number | undefined)[],
  cost: number,
  node: BranchNode,
  go: boolean,
): Run {
  const [first, second] = variables
  const two = variables.length > 1
  const missing = variables.includes(undefined)

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
    state.vars = [data]
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
