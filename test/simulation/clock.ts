/**
 * Virtual time for everything in this process that is loaded after this module: timers, `performance.now` and `Date.now`
 * stand still until the clock is driven, and only one thing happens at a time.
 */
import { syncBuiltinESMExports } from 'node:module'
import promises from 'node:timers/promises'

/** Milliseconds of `performance.now()` between the beginnings of histories, and their time of day. */
const APART = 1_000_000
const DAY = Date.UTC(2026, 6, 28)
/** What Node makes of a delay that is none. */
const LEAST = 1
const LONGEST = 2 ** 31 - 1

const endOfTurn = globalThis.setImmediate

/** What Node's timers are to who has one. */
export class Timer {
  /** One that has run can be refreshed, one that was cleared cannot. */
  active = true
  number = 0
  at = 0

  constructor(
    private readonly clock: Clock,
    readonly run: () => void,
    private readonly delay: number,
    readonly repeats = false,
  ) {}

  refresh(): this {
    if (this.active) this.clock.add(this, this.delay)
    return this
  }
  close(): void {
    this.active = false
    this.clock.timers.delete(this)
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
}

/** The place of a timer in the queue; one that was refreshed has several, of which the last counts. */
type Entry = [at: number, number: number, timer: Timer]

export class Clock {
  /** Of `performance.now()`, which goes on from one history to the next. */
  now = APART
  /** When the history began. */
  began = APART
  /** Milliseconds by which the time of day was set. */
  set = 0
  /** Those that have not run. */
  readonly timers = new Set<Timer>()
  private readonly heap: Entry[] = []
  private count = 0

  /** A new history begins. */
  reset(): void {
    this.now = (Math.floor(this.now / APART) + 1) * APART
    this.began = this.now
    this.set = 0
    this.count = 0
    this.timers.clear()
    this.heap.length = 0
  }

  /** Runs `run` after so many milliseconds, after everything else of that moment that was asked for before. */
  after(delay: number, run: () => void): Timer {
    const timer = new Timer(this, run, delay)
    this.add(timer, delay)
    return timer
  }

  add(timer: Timer, delay: number): void {
    timer.at = this.now + delay
    timer.number = ++this.count
    this.timers.add(timer)
    this.push([timer.at, timer.number, timer])
  }

  /** Lets time pass: so many milliseconds, or less once `until` holds. Resolves with whether it did. */
  async pass(ms: number, until: () => boolean = () => false): Promise<boolean> {
    const end = this.now + ms
    await turn()
    while (!until()) {
      const timer = this.next(end)
      if (!timer) {
        this.now = end
        return until()
      }
      this.now = Math.max(this.now, timer.at)
      this.timers.delete(timer)
      if (timer.repeats) timer.refresh()
      timer.run()
      await turn()
    }
    return true
  }

  private next(end: number): Timer | undefined {
    for (let first = this.heap[0]; first; first = this.heap[0]) {
      const [at, number, timer] = first
      const stale = !timer.active || timer.number !== number
      if (!stale && at > end) return undefined
      this.pop()
      if (!stale) return timer
    }
    return undefined
  }

  private push(entry: Entry): void {
    const { heap } = this
    let i = heap.push(entry) - 1
    while (i > 0) {
      const up = (i - 1) >> 1
      if (!isBefore(entry, heap[up]!)) break
      heap[i] = heap[up]!
      i = up
    }
    heap[i] = entry
  }

  private pop(): void {
    const { heap } = this
    const last = heap.pop()!
    if (!heap.length) return
    let i = 0
    for (;;) {
      let down = 2 * i + 1
      if (down >= heap.length) break
      if (down + 1 < heap.length && isBefore(heap[down + 1]!, heap[down]!)) down++
      if (!isBefore(heap[down]!, last)) break
      heap[i] = heap[down]!
      i = down
    }
    heap[i] = last
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1])
}

/** Resolves when everything that is ready has run, promises and ticks included. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    endOfTurn(resolve)
  })
}

export const clock = new Clock()

type Callback = (...args: unknown[]) => void

const delayOf = (ms: unknown) => (Number(ms) >= LEAST && Number(ms) <= LONGEST ? Number(ms) : LEAST)
const start = (run: Callback, delay: number, args: unknown[], repeats = false) => {
  const timer = new Timer(clock, args.length ? () => run(...args) : run, delay, repeats)
  clock.add(timer, delay)
  return timer
}
const stop = (timer: Timer | undefined) => timer?.close()

Object.assign(globalThis, {
  setTimeout: (run: Callback, ms?: number, ...args: unknown[]) => start(run, delayOf(ms), args),
  setInterval: (run: Callback, ms?: number, ...args: unknown[]) => start(run, delayOf(ms), args, true),
  setImmediate: (run: Callback, ...args: unknown[]) => start(run, 0, args),
  clearTimeout: stop,
  clearInterval: stop,
  clearImmediate: stop,
})
Object.assign(promises, {
  setTimeout: (ms: number, value: unknown) =>
    new Promise((resolve) => globalThis.setTimeout(resolve, ms, value)),
  setImmediate: (value: unknown) => new Promise((resolve) => globalThis.setImmediate(resolve, value)),
})
syncBuiltinESMExports()
performance.now = () => clock.now
Date.now = () => DAY + clock.now - clock.began + clock.set
