import { performance } from 'node:perf_hooks'
import { countRefusal, limitReached, RETRY_AFTER } from './refusals.ts'
import type { Step } from './steps.ts'

/** Milliseconds of turns without a break that are too long: one alone is a reload or a collection of garbage. */
const PATIENCE = 1_000

/** Where the time of a turn of the event loop comes from. */
export interface Turns {
  now(): number
  /** Runs `listener` when all sockets of the turn are read. */
  afterTurn(listener: () => void): void
}

const NODE: Turns = { now: () => performance.now(), afterTurn: setImmediate }

/**
 * Knows when more requests come than can be served. Node reads all requests that have come in one turn of the event loop.
 * Where there are several, none is answered before; so the last of them have waited for as long as the turn lasts.
 */
export class Overload {
  #began: number | undefined
  #ended = 0
  /** When the first of the turns began that were too long. */
  #since: number | undefined

  /** @param most milliseconds that a turn may last */
  constructor(
    readonly most: number,
    readonly turns: Turns = NODE,
  ) {}

  /** Whether a request that is read now has to be refused. */
  refuses(): boolean {
    const now = this.turns.now()
    if (this.#began === undefined) {
      this.#began = now
      if (now - this.#ended > this.most) this.#since = undefined
      this.turns.afterTurn(() => this.#end())
    }
    return this.#since !== undefined && now - this.#since > PATIENCE && now - this.#began > this.most
  }

  #end(): void {
    const began = this.#began!
    this.#ended = this.turns.now()
    this.#began = undefined
    if (this.#ended - began <= this.most) this.#since = undefined
    else this.#since ??= began
  }
}

/** Refuses the newest requests before any work is done for them, as long as there are more than can be served. */
export function overloadStep(overload: Overload): Step {
  return {
    name: 'overload',
    run() {
      if (!overload.refuses()) return undefined
      countRefusal('maxEventLoopDelay')
      return {
        status: 503,
        message: limitReached('maxEventLoopDelay'),
        headers: { 'retry-after': RETRY_AFTER },
      }
    },
  }
}
