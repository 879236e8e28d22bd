import type { Steps } from '../text/index.ts'
import type { Logger } from './log.ts'

/** Milliseconds between two measurements. */
const INTERVAL = 20
/** Milliseconds of blocking from which it is reported. */
const LONG = 100
/** Milliseconds of blocking by a known piece of work from which it is shown by default. */
const NOTABLE = 1_000
/** Milliseconds from which a piece of work may be the cause. */
const NOTICED = LONG / 2

/** A piece of synchronous work. */
interface Held {
  /** The kind of work, such as `compile a configuration`. */
  stage: string
  /** Its router, or a file if there is no router yet. */
  of: string
  ms: number
}

/** The longest piece since the last measurement. */
let longest: Held | undefined

/**
 * Does a piece of work, and remembers it if it blocked the event loop.
 * @param of a prefix, or a file
 */
export function inOneGo<T>(stage: string, of: string, work: () => T): T {
  const began = performance.now()
  try {
    return work()
  } finally {
    const ms = performance.now() - began
    if (ms >= NOTICED && ms > (longest?.ms ?? 0)) longest = { stage, of, ms }
  }
}

/** The same for work that pauses, for each piece between two pauses. */
export function* inParts<T>(stage: string, of: string, steps: Steps<T>): Steps<T> {
  for (;;) {
    const step = inOneGo(stage, of, () => steps.next())
    if (step.done) return step.value
    yield
  }
}

/**
 * Measures the event loop's delay, and logs blocks of 100 ms or more, with the piece of work that took
 * longest. Does not keep the process alive.
 * @param observe receives each delay, in seconds
 * @returns a function that stops it
 */
export function watchEventLoop(log: Logger, observe: (seconds: number) => void): () => void {
  let last = performance.now()
  // Work before this point delayed no request.
  longest = undefined
  const timer = setInterval(() => {
    const now = performance.now()
    const ms = Math.max(0, now - last - INTERVAL)
    last = now
    observe(ms / 1000)
    const held = longest
    longest = undefined
    // Timers fire anywhere within `INTERVAL`, so the delay is known only to that precision.
    if (Math.max(ms, held?.ms ?? 0) < LONG) return
    const line = { ms: Math.round(Math.max(ms, held?.ms ?? 0)) }
    const level = held && line.ms >= NOTABLE ? 'info' : 'debug'
    log[level]({ ...line, ...(held && { stage: held.stage, of: held.of }) }, 'event loop blocked')
  }, INTERVAL)
  timer.unref()
  return () => clearInterval(timer)
}
