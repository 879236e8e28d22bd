import type { JsonObject } from '../../json/index.ts'
import { CANCELLATION, type CancelSignal, Fault } from '../../mcp/index.ts'
import type { ServerRequest } from './rpc-client.ts'

/**
 * How a call uses a session. `exclusive`: the server may ask the client or send log messages, and these do not
 * name their call. `shared`: neither happens. `metadata`: lists and the like, which cause neither.
 */
export type LockMode = 'metadata' | 'shared' | 'exclusive'

/** A call in a session, from its request to its answer. */
export interface LockHolder {
  /** Caller; messages that may belong to the call reach no other caller. */
  readonly caller: string
  readonly mode: LockMode
  /** Receives a notification that names no call. */
  message(raw: JsonObject): void
  /** Receives a request of the server; absent: the call cannot be asked. */
  ask?(question: ServerRequest): void
}

export interface LockWait {
  signal: CancelSignal
  /** Milliseconds without another call ending after which waiting fails. */
  timeout: number
  /** Whether to proceed without a turn instead, after `timeout` milliseconds in all. */
  orWithout?: boolean
}

interface Waiting {
  holder: LockHolder
  done(fault?: Fault): void
  /** Called when another call has ended. */
  moved(): void
}

interface Parked {
  since: number
  giveUp(): void
  timer?: NodeJS.Timeout
}

/** Maximum calls waiting for one session. */
const MAX_WAITING = 256
/** Maximum calls parked in one session; beyond, the oldest is given up. */
const MAX_PARKED = 16
/** Milliseconds after which a parked call is given up for another caller's call. */
export const GIVES_WAY = 60_000

/**
 * Locks of a session, which ensure that every message of the server can be attributed: an `exclusive` call excludes all
 * others. While its client is asked something it is parked: other calls of the same caller may run, and it waits for
 * them once the answer is there.
 */
export class SessionLock {
  readonly #running = new Set<LockHolder>()
  readonly #parked = new Map<LockHolder, Parked>()
  readonly #metadata = new Set<LockHolder>()
  readonly #waiting = new Set<Waiting>()
  #ended: Fault | undefined

  /** @param server name for faults */
  constructor(private readonly server: string) {}

  /** Number of calls that have or wait for the session. */
  get size(): number {
    return this.#running.size + this.#parked.size + this.#metadata.size + this.#waiting.size
  }

  /** Whether a call other than `metadata` ones is running. */
  get busy(): boolean {
    return this.#running.size > 0
  }

  /** The call that an unattributed message belongs to; undefined: calls of several callers are possible. */
  get addressee(): LockHolder | undefined {
    const held = [...this.#running, ...this.#parked.keys()]
    const [first] = held
    if (!first) return this.#metadata.size === 1 ? [...this.#metadata][0] : undefined
    if (held.some(({ caller }) => caller !== first.caller)) return undefined
    return this.busy || held.length === 1 ? first : undefined
  }

  /** Waits for a call's turn, also for the next one of a parked call; returns a fault if it does not come. */
  enter(holder: LockHolder, { signal, timeout, orWithout }: LockWait): Promise<Fault | undefined> {
    const refused = this.#ended ?? (signal.aborted ? CANCELLATION : undefined)
    if (refused) return Promise.resolve(refused)
    if (holder.mode === 'metadata') {
      this.#metadata.add(holder)
      return Promise.resolve(undefined)
    }
    if (this.#waiting.size >= MAX_WAITING && !orWithout)
      return Promise.resolve(
        new Fault(
          'busy',
          `Too many calls wait for one session with the server ${this.server}: try again later`,
        ),
      )
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined
      const waiting: Waiting = {
        holder,
        moved: () => {
          if (!orWithout) wait()
        },
        done: (fault) => {
          clearTimeout(timer)
          signal.removeEventListener('abort', onAbort)
          this.#waiting.delete(waiting)
          resolve(fault)
        },
      }
      const onAbort = () => this.#giveUp(waiting, CANCELLATION)
      const wait = () => {
        clearTimeout(timer)
        timer = setTimeout(() => {
          if (orWithout) this.#admit(waiting)
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
   * Parks a call while its client is asked.
   * @param giveUp ends the call if others need the session
   */
  park(holder: LockHolder, giveUp: () => void): void {
    this.#running.delete(holder)
    this.#parked.set(holder, { since: performance.now(), giveUp })
    if (this.#parked.size > MAX_PARKED) this.#parked.values().next().value?.giveUp()
    this.#next()
  }

  /** Ends a call, running or waiting. */
  leave(holder: LockHolder): void {
    for (const waiting of [...this.#waiting]) if (waiting.holder === holder) waiting.done()
    clearTimeout(this.#parked.get(holder)?.timer)
    const held = this.#parked.delete(holder) || this.#running.delete(holder)
    this.#metadata.delete(holder)
    this.#next()
    // Restart the timeouts, as waiting for several calls takes longer.
    if (held) for (const waiting of this.#waiting) waiting.moved()
  }

  /** Ends all waits. */
  close(fault: Fault): void {
    this.#ended = fault
    for (const { timer } of this.#parked.values()) clearTimeout(timer)
    this.#parked.clear()
    for (const waiting of [...this.#waiting]) waiting.done(fault)
  }

  #stuck(timeout: number): Fault {
    return new Fault(
      'busy',
      `The call waited ${timeout / 1000} s for other calls in its session with the server ${this.server}, and none ended: try again later`,
    )
  }

  #giveUp(waiting: Waiting, fault: Fault): void {
    waiting.done(fault)
    this.#next()
  }

  #admit(waiting: Waiting): void {
    clearTimeout(this.#parked.get(waiting.holder)?.timer)
    this.#parked.delete(waiting.holder)
    this.#running.add(waiting.holder)
    waiting.done()
  }

  /** Admits waiting calls in order; parked calls go first, because others may wait for their end. */
  #next(): void {
    const isParked = ({ holder }: Waiting) => this.#parked.has(holder)
    const all = [...this.#waiting]
    // Whether any call, or an `exclusive` call, runs or waits earlier in the order; later ones must not overtake it.
    let some = this.busy
    let exclusive = [...this.#running].some(({ mode }) => mode === 'exclusive')
    for (const waiting of [...all.filter(isParked), ...all.filter((each) => !isParked(each))]) {
      const { mode, caller } = waiting.holder
      const free = mode === 'exclusive' ? !some : !exclusive
      // A question of the server could belong to another caller's parked call.
      const others =
        mode === 'exclusive' ? [...this.#parked].filter(([holder]) => holder.caller !== caller) : []
      if (free && others.length) {
        for (const [, parked] of others) hurry(parked)
        continue
      }
      if (free) this.#admit(waiting)
      some = true
      exclusive ||= mode === 'exclusive'
    }
  }
}

/** Gives a parked call up when its time is over. */
function hurry(parked: Parked): void {
  parked.timer ??= setTimeout(
    parked.giveUp,
    Math.max(0, parked.since + GIVES_WAY - performance.now()),
  ).unref()
}
