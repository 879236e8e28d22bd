import { Fault } from './errors.ts'
import type { Host } from './function.ts'
import type { Span } from './nodes.ts'
import type { Limits, Place } from './types.ts'

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
  private steps: number

  constructor(
    /** The root; a Struct when it is closed. */
    readonly root: unknown,
    readonly place: Place,
    readonly limits: Limits,
  ) {
    this.go = place === 'go'
    this.max = limits.output
    this.steps = limits.steps
  }

  charge(steps: number): void {
    this.steps -= steps
    if (this.steps < 0) {
      throw new Fault(
        'limit',
        `more than ${this.limits.steps} steps`,
        undefined,
        'a loop runs too often, or what it works on is too long',
      )
    }
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
export type Run = (state: State, dot: unknown) => Signal

/** Makes the text that a value prints as, where it stands. */
export type Sink = (state: State, value: unknown) => string
