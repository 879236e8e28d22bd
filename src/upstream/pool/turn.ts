import type { JsonObject } from '../../json/index.ts'
import { type CancelSignal, Fault } from '../../mcp/index.ts'
import type { ServerRequest } from '../rpc/rpc-client.ts'

/**
 * How a call uses a session. `alone`: the server may ask its client, or send log messages, which do not say to which
 * call they belong. `open`: neither. `plain`: lists and the like, during which a server does neither.
 */
export type Use = 'plain' | 'open' | 'alone'

/** A call in a session, from its request to its answer. */
export interface Turn {
  /** Whose call it is: nobody else gets what may belong to it. */
  readonly who: string
  readonly use: Use
  /** Takes a notification that names no call. */
  message(raw: JsonObject): void
  /** Takes a request of the server; absent: the call cannot be asked. */
  ask?(question: ServerRequest): void
}

export interface Patience {
  signal: CancelSignal
  /** Milliseconds without the end of another call after which the wait for the turn ends with a fault. */
  timeout: number
  /** Whether the call goes on without its turn instead, after so many milliseconds in all. */
  goesOn?: boolean
}

interface Waiting {
  turn: Turn
  done(fault?: Fault): void
  /** Another call has ended. */
  moved(): void
}

interface Parked {
  since: number
  giveUp(): void
  timer?: NodeJS.Timeout
}

/** Calls that wait for their turn in one session, at the most. */
const MAX_WAITING = 256
/** Calls in one session whose clients are asked something, at the most; the oldest gives way. */
const MAX_PARKED = 16
/** Milliseconds after which a call whose client is asked something gives way to a call of somebody else. */
export const GIVES_WAY = 60_000

/**
 * Who may use a session, so that of whatever the server sends it is known to which call it belongs: a call that is
 * `alone` has no other call beside it. While its client is asked something, it is parked: the server waits for the
 * answer, so other calls of the same caller go on, and it waits for them once there is an answer.
 */
export class Turns {
  readonly #running = new Set<Turn>()
  readonly #parked = new Map<Turn, Parked>()
  readonly #plain = new Set<Turn>()
  readonly #waiting = new Set<Waiting>()
  #ended: Fault | undefined

  /** @param server for faults */
  constructor(private readonly server: string) {}

  /** Calls that have the session or wait for it. */
  get size(): number {
    return this.#running.size + this.#parked.size + this.#plain.size + this.#waiting.size
  }

  /** Whether a call runs that lists do not count as. */
  get busy(): boolean {
    return this.#running.size > 0
  }

  /** The call that a message belongs to which names none; undefined: it may belong to calls of several callers. */
  get addressee(): Turn | undefined {
    const held = [...this.#running, ...this.#parked.keys()]
    const [first] = held
    if (!first) return this.#plain.size === 1 ? [...this.#plain][0] : undefined
    if (held.some(({ who }) => who !== first.who)) return undefined
    return this.busy || held.length === 1 ? first : undefined
  }

  /** Waits for the turn of a call, or for another one of a call that was parked; a fault when it does not come. */
  enter(turn: Turn, { signal, timeout, goesOn }: Patience): Promise<Fault | undefined> {
    const refused = this.#ended ?? (signal.aborted ? cancelled() : undefined)
    if (refused) return Promise.resolve(refused)
    if (turn.use === 'plain') {
      this.#plain.add(turn)
      return Promise.resolve(undefined)
    }
    if (this.#waiting.size >= MAX_WAITING && !goesOn)
      return Promise.resolve(
        new Fault(
          'busy',
          `Too many calls wait for one session with the server ${this.server}: try again later`,
        ),
      )
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined
      const waiting: Waiting = {
        turn,
        moved: () => {
          if (!goesOn) wait()
        },
        done: (fault) => {
          clearTimeout(timer)
          signal.removeEventListener('abort', onAbort)
          this.#waiting.delete(waiting)
          resolve(fault)
        },
      }
      const onAbort = () => this.#giveUp(waiting, cancelled())
      const wait = () => {
        clearTimeout(timer)
        timer = setTimeout(() => {
          if (goesOn) this.#admit(waiting)
          else this.#giveUp(waiting, this.#stuck(timeout))
        }, timeout)
      }
      this.#waiting.add(waiting)
      this.#next()
      if (!this.#waiting.has(waiting)) return
      wait()
      signal.addEventListener('abort', onAbort)
    })
  }

  /**
   * The client of a call is asked something.
   * @param giveUp ends the call when others need its place
   */
  park(turn: Turn, giveUp: () => void): void {
    this.#running.delete(turn)
    this.#parked.set(turn, { since: performance.now(), giveUp })
    if (this.#parked.size > MAX_PARKED) this.#parked.values().next().value?.giveUp()
    this.#next()
  }

  /** A call is over, also one that waits for another turn. */
  leave(turn: Turn): void {
    for (const waiting of [...this.#waiting]) if (waiting.turn === turn) waiting.done()
    clearTimeout(this.#parked.get(turn)?.timer)
    const held = this.#parked.delete(turn) || this.#running.delete(turn)
    this.#plain.delete(turn)
    this.#next()
    // Whoever waits for many calls, one after the other, waits longer than for one.
    if (held) for (const waiting of this.#waiting) waiting.moved()
  }

  /** Ends the wait of all. */
  close(fault: Fault): void {
    this.#ended = fault
    for (const { timer } of this.#parked.values()) clearTimeout(timer)
    this.#parked.clear()
    for (const waiting of [...this.#waiting]) waiting.done(fault)
  }

  #stuck(timeout: number): Fault {
    return new Fault(
      'busy',
      `The call waited for other calls in its session with the server ${this.server}, none of which ended in ${timeout / 1000} s: try again later`,
    )
  }

  #giveUp(waiting: Waiting, fault: Fault): void {
    waiting.done(fault)
    this.#next()
  }

  #admit(waiting: Waiting): void {
    clearTimeout(this.#parked.get(waiting.turn)?.timer)
    this.#parked.delete(waiting.turn)
    this.#running.add(waiting.turn)
    waiting.done()
  }

  /** Lets those in whose turn it is: in their order, but whoever was parked first, as others may wait for its end. */
  #next(): void {
    const isParked = ({ turn }: Waiting) => this.#parked.has(turn)
    const all = [...this.#waiting]
    // Who runs, or waits for one that runs: nobody overtakes them.
    let some = this.busy
    let alone = [...this.#running].some(({ use }) => use === 'alone')
    for (const waiting of [...all.filter(isParked), ...all.filter((each) => !isParked(each))]) {
      const { use, who } = waiting.turn
      const free = use === 'alone' ? !some : !alone
      // What a server asks may still belong to a call that is parked.
      const others = use === 'alone' ? [...this.#parked].filter(([turn]) => turn.who !== who) : []
      if (free && others.length) {
        for (const [, parked] of others) hurry(parked)
        continue
      }
      if (free) this.#admit(waiting)
      some = true
      alone ||= use === 'alone'
    }
  }
}

/** Somebody else needs the place of a parked call. */
function hurry(parked: Parked): void {
  parked.timer ??= setTimeout(
    parked.giveUp,
    Math.max(0, parked.since + GIVES_WAY - performance.now()),
  ).unref()
}

function cancelled(): Fault {
  return new Fault('cancelled', 'The call was cancelled')
}
