import { Fault } from './errors.ts'
import type { Host } from './function.ts'
import type { Span } from './nodes.ts'
import { nextTurn, turnIsOver } from './turn.ts'
import type { Limits, Place } from './types.ts'

/** Steps after which the clock is looked at. */
const LOOK = 256

/** Steps that one call of a function may take: about 100 ms, for it cannot be interrupted. */
export const CALL_STEPS = 100_000

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
  readonly go: boolean
  readonly max: number
  /** Steps that are left. */
  steps: number
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
    this.steps = limits.steps
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
    if (this.steps >= this.least) return
    throw this.steps < 0
      ? new Fault('limit', `more than ${this.limits.steps} steps`, undefined, TOO_MUCH)
      : new Fault('limit', 'too long a value for this function', undefined, 'give it less at a time')
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
const TOO_MUCH = 'a loop runs too often, or what it works on is too long'

export function missingFault(): Fault {
  return new Fault(
    'missing',
    'a value of the URL is missing',
    undefined,
    'give the argument a default, or guard it',
  )
}

export type Eval = (state: State, dot: unknown) => unknown

/** What a node did: 0 went on, 1 `break`, 2 `continue`. */
export type Signal = 0 | 1 | 2
/** A promise where the rendering paused: the node goes on by itself, and what follows waits for it. */
export type Run = (state: State, dot: unknown) => Signal | Promise<Signal>

/** Makes the text that a value prints as, where it stands. */
export type Sink = (state: State, value: unknown) => string
