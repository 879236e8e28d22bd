import { performance } from 'node:perf_hooks'
import { countRefusal, limitReached, RETRY_AFTER } from './refusals.ts'
import type { Step } from './steps.ts'

/** Milliseconds of continuous slow ticks that count as overload; a single one may be a reload or garbage collection. */
const MIN_OVERLOAD = 1_000

/** Source of event loop times. */
interface Turns {
  now(): number
  /** Calls `listener` when all sockets of the tick have been read. */
  afterTurn(listener: () => void): void
}

const NODE: Turns = { now: () => performance.now(), afterTurn: setImmediate }

/**
 * Detects overload from event loop lag. Node reads all pending requests in one tick and answers none of them before its
 * end, so the last ones have waited as long as the tick lasts.
 */
export class Overload {
  #began: number | undefined
  #ended = 0
  /** Start of the first of the slow ticks. */
  #since: number | undefined

  /** @param most maximum milliseconds of a tick */
  constructor(
    readonly most: number,
    readonly turns: Turns = NODE,
  ) {}

  /** Whether to refuse the request read now. */
  refuses(): boolean {
    const now = this.turns.now()
    if (this.#began === undefined) {
      this.#began = now
      if (now - this.#ended > this.most) this.#since = undefined
      this.turns.afterTurn(() => this.#end())
    }
    return this.#since !== undefined && now - this.#since > MIN_OVERLOAD && now - this.#began > this.most
  }

  #end(): void {
    const began = this.#began!
    this.#ended = this.turns.now()
    this.#began = undefined
    if (this.#ended - began <= this.most) this.#since = undefined
    else this.#since ??= began
  }
}

/** Refuses new requests during overload, before any work is done for them. */
export function overloadStep(overload: Overload): Step {
  return {
    name: 'overload',
    async run() {
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
