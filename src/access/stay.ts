import { randomUUID } from 'node:crypto'
import { type Hold, memory } from './memory.ts'
import { type Quota, type Reached, sharerOf } from './quota.ts'
import type { Step } from './steps.ts'

/** Who stands at the other end as far as can be told without a credential: nothing of it is anybody else's. */
export interface Peer {
  /** No other peer has the same. */
  readonly key: string
  readonly gone: boolean
  /** Runs `listener` once when it goes, or soon if it has gone. */
  onGone(listener: () => void): void
}

/** Bytes that a call takes of the gateway besides its messages. */
const PER_CALL = 4096

/** What one request has of the gateway until it is over: calls under way, and memory. */
export class Stay implements Peer {
  /** Bytes of its body, and of what answers it. */
  readonly hold: Hold
  /** Whose share of the limits it uses. */
  readonly sharer: string
  private calls = 0
  private users = 1
  private name: string | undefined
  private listeners: (() => void)[] = []

  /** @param quota of calls under way; absent: they are not counted */
  constructor(
    private readonly prefix: string,
    sharer: string,
    private readonly quota?: Quota,
  ) {
    this.sharer = sharer
    this.hold = memory.hold(sharer)
  }

  /** Counts calls as under way until it is over; the limit that is reached when there are too many. */
  begin(calls: number): Reached | Promise<Reached> {
    const limit = this.quota?.take(this.prefix, this.sharer, calls)
    return limit instanceof Promise
      ? limit.then((reached) => this.begun(calls, reached))
      : this.begun(calls, limit)
  }
  private begun(calls: number, limit: Reached): Reached {
    if (limit) return limit
    // Its client left meanwhile.
    if (this.gone) this.quota?.give(this.prefix, this.sharer, calls)
    else this.calls += calls
    return this.hold.add(calls * PER_CALL) ? undefined : 'maxBuffered'
  }
  /** Its calls turned out to be streams without an end, which connections bound. */
  uncount(): void {
    this.quota?.give(this.prefix, this.sharer, this.calls)
    this.calls = 0
  }
  /** Its calls go on after the answer to the request; what is returned ends them. */
  extend(): () => void {
    this.users++
    let ended = false
    return () => {
      if (!ended) this.end()
      ended = true
    }
  }
  /** The answer is out, or one that has extended it is done. */
  end(): void {
    this.users--
    if (this.users !== 0) return
    this.uncount()
    this.hold.close()
    for (const listener of this.listeners.splice(0)) listener()
  }

  get key(): string {
    this.name ??= randomUUID()
    return this.name
  }
  get gone(): boolean {
    return this.users <= 0
  }
  onGone(listener: () => void): void {
    if (this.gone) queueMicrotask(listener)
    else this.listeners.push(listener)
  }
}

/**
 * Gives a request its part of the limits until its response is out.
 * @param calls counts calls under way; absent: they are not counted
 */
export function limitsStep(calls: Quota | undefined): Step {
  return {
    name: 'limits',
    run(request) {
      const { route, caller, address, forwarded, outer } = request
      const sharer = sharerOf(route.prefix, caller, address)
      // A gateway that passes a request on counts its calls, a worker does not.
      const isCounted = !forwarded || outer?.isGateway === false
      const stay = new Stay(route.prefix, sharer, isCounted ? calls : undefined)
      request.stay = stay
      request.onEnd(() => stay.end())
      return undefined
    },
  }
}
