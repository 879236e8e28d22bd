import { pause, type Steps } from '../text/index.ts'
import { execFault, Fault } from './errors.ts'
import { type ActionNode, type BranchNode, callsAny, type Span, type TemplateNode } from './node.ts'
import type { Host, Limits, Place } from './types.ts'
import { type Items, itemsOf, truth } from './values.ts'

/** Steps between two pauses of a rendering, at which it checks its time. */
const STEPS_PER_TURN = 1_000

/** Maximum steps of one function call, about 100 ms, as it cannot be interrupted. */
const CALL_STEPS = 100_000

/** A running rendering. */
export class State implements Host {
  out = ''
  /** Variables of the running template or definition; the first is `$`. */
  vars: unknown[] = []
  /** Depth of template calls. */
  depth = 0
  /** The current expression, for errors. */
  at: Span = START
  /** Whether the value will be printed, so that a missing argument of a function matters. */
  strict = false
  /** Whether the header is dropped because of a missing value. */
  dropped = false
  /** Whether something not empty was printed. */
  printed = false
  /** Whether the first printed value was empty. */
  beganEmpty = false
  /** Start and end in `out` of each value in a URL's path. */
  pathValues: number[] = []
  /** The actions that wrote them. */
  pathValueSpans: Span[] = []
  /** Whether a URL's origin is known to be complete. */
  originChecked = false
  /** The fault of a value in a URL's path, unless a worse one follows. */
  pathFault: Fault | undefined
  readonly go: boolean
  readonly max: number
  /** Remaining steps. */
  steps: number
  /** The allowance shared with other renderings, if any. */
  private readonly allowance: Allowance | undefined
  /** The rendering pauses when fewer steps than this are left. */
  pauseBelow: number
  /** Minimum remaining steps during a function call. */
  private lowestInCall = 0
  /** Milliseconds of earlier turns, and start of this one. */
  private worked = 0
  private began = 0

  constructor(
    /** The root; a Struct if closed. */
    readonly root: unknown,
    readonly place: Place,
    readonly limits: Limits,
    /** Whether it may pause. */
    inTurns: boolean,
  ) {
    this.go = place === 'go'
    this.max = limits.output
    this.allowance = inTurns ? undefined : currentAllowance
    this.steps = Math.min(limits.steps, Math.max(0, this.allowance?.left ?? limits.steps))
    this.pauseBelow = inTurns ? this.steps - STEPS_PER_TURN : Number.NEGATIVE_INFINITY
    if (inTurns) this.began = performance.now()
  }

  /** Yields to the event loop, and checks the time. @throws Fault `limit` */
  async pause(): Promise<Signal> {
    this.pauseBelow = this.steps - STEPS_PER_TURN
    const { time } = this.limits
    this.worked += performance.now() - this.began
    if (this.worked > time) throw new Fault('limit', `more than ${time} ms`, undefined, TOO_MUCH_HINT)
    await pause()
    this.began = performance.now()
    return 0
  }

  /** A function runs from here until `callEnds`. */
  callBegins(): void {
    this.lowestInCall = Math.max(0, this.steps - CALL_STEPS)
  }

  callEnds(): void {
    this.lowestInCall = 0
  }

  charge(steps: number): void {
    this.steps -= steps
    if (this.allowance) this.allowance.left -= steps
    if (this.steps >= this.lowestInCall) return
    throw this.steps < 0
      ? new Fault('limit', `more than ${this.limits.steps} steps`, undefined, TOO_MUCH_HINT)
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
const TOO_MUCH_HINT = 'a loop runs too many times, or a value is too long'

export function missingFault(): Fault {
  return new Fault(
    'missing',
    'a value in the URL is missing',
    undefined,
    'give the argument a default, or guard it',
  )
}

export type Eval = (state: State, dot: unknown) => unknown

/** Result of a node: 0 continue, 1 `break`, 2 `continue`. */
type Signal = 0 | 1 | 2
/** A promise if the rendering paused; following nodes wait for it. */
export type Run = (state: State, dot: unknown) => Signal | Promise<Signal>

/** Converts a value to text for its context. */
export type Sink = (state: State, value: unknown) => string

/** Functions with which a template handles a missing value. */
const HANDLES_MISSING: ReadonlySet<string> = new Set(
  'default or and coalesce ternary empty eq ne not any all'.split(' '),
)

/**
 * An action with the preceding text.
 * @param sink converts its value; undefined if it declares or assigns
 */
export function actionRun(run: Eval, sink: Sink | undefined, node: ActionNode, before: string): Run {
  const strict = sink !== undefined && !callsAny(node.pipe, HANDLES_MISSING)
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
    return state.steps < state.pauseBelow ? state.pause() : 0
  }
}

/** Literal text. */
export function textRun(text: string): Run {
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
 * @param variables slots of its variables; undefined for one assigned but not declared
 * @param cost steps of one iteration
 */
export function rangeRun(
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

  /** The iterations from `from` on. */
  function iterate(items: Items, from: number, state: State): ReturnType<Run> {
    for (let at = from; at < items.size; at++) {
      state.charge(cost)
      const item = items.item(at)
      if (two) {
        state.vars[first!] = items.key(at)
        state.vars[second!] = item
      } else if (first !== undefined) state.vars[first] = item
      let signal = body(state, item)
      if (signal === 0 && state.steps < state.pauseBelow) signal = state.pause()
      if (typeof signal !== 'number') {
        return signal.then((later) => (later === 1 ? 0 : iterate(items, at + 1, state)))
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
    // As in Go, the variables hold the whole value if no iteration sets them.
    if (first !== undefined) state.vars[first] = value
    if (second !== undefined) state.vars[second] = value
    const items = itemsOf(value, go, state)
    if (items.size > 0) return iterate(items, 0, state)
    return otherwise ? otherwise(state, dot) : 0
  }
}

/** `if` and `with`; `with` sets the dot. */
export function branchRun(test: Eval, yes: Run, no: Run | undefined, node: BranchNode): Run {
  const takesDot = node.type === 'with'
  return (state, dot) => {
    state.at = node
    const value = test(state, dot)
    if (truth(value)) return yes(state, takesDot ? value : dot)
    return no ? no(state, dot) : 0
  }
}

/** A callable definition. It may be compiled after its caller, so the caller reads `run` when it runs. */
export interface Callable {
  run: Run
  /** Steps charged for a call. */
  cost: number
}

/** Runs a definition with its own variables, within the depth limit. */
export function callRun(callable: Callable, argument: Eval | undefined, node: TemplateNode): Run {
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
      return state.steps < state.pauseBelow ? state.pause() : 0
    }
    return typeof signal === 'number' ? leave() : signal.then(leave)
  }
}

/** Steps that all renderings of one piece of work share; below zero once exceeded. */
interface Allowance {
  left: number
}

/** The allowance of the current work; undefined: each rendering has only its own limits. */
let currentAllowance: Allowance | undefined

/**
 * Does the same work with an allowance that its renderings share: once it is used up, each further rendering fails.
 */
export function* metered<T>(allowance: Allowance, steps: Steps<T>): Steps<T> {
  for (;;) {
    currentAllowance = allowance
    try {
      const step = steps.next()
      if (step.done) return step.value
    } finally {
      currentAllowance = undefined
    }
    yield
  }
}
