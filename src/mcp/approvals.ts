import { bump } from '../access/quota.ts'
import type { Json } from '../json/index.ts'
import { PendingInput } from './pending-input.ts'
import { MAX_QUESTIONS } from './questions.ts'

/** A call that waits for its client. */
export interface ParkedCall {
  quotaKey: string
  /** Whether a person has approved it, and the server now asks for more input. */
  approved: boolean
  /** The server's `requestState`. */
  inner?: Json | undefined
  /** Called if no answer comes in time. */
  onUnanswered?: (() => void) | undefined
}

/** Calls that wait for approval, or for more input after it. */
export class Approvals {
  readonly #pending: PendingInput<ParkedCall>
  readonly #counts = new Map<string, number>()

  /** @param life milliseconds in which a person may answer */
  constructor(life?: number) {
    this.#pending = new PendingInput(life)
  }

  /** Returns the handle; undefined: too many calls of the same quota key wait. */
  add(parked: ParkedCall, bound: string): string | undefined {
    const { quotaKey, onUnanswered } = parked
    if ((this.#counts.get(quotaKey) ?? 0) >= MAX_QUESTIONS) return undefined
    bump(this.#counts, quotaKey, 1)
    return this.#pending.add(parked, bound, quotaKey, () => {
      this.#freed(quotaKey)
      onUnanswered?.()
    })
  }

  take(handle: string, bound: string): ParkedCall | undefined {
    const parked = this.#pending.take(handle, bound)
    if (parked) this.#freed(parked.quotaKey)
    return parked
  }

  close(): void {
    this.#pending.close()
  }

  #freed(quotaKey: string): void {
    bump(this.#counts, quotaKey, -1)
  }
}
