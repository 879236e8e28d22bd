import { RecentMap } from '../text/index.ts'

/**
 * Has something said once in a while for each key.
 * @param every milliseconds
 * @param say gets how often it was not said since the last time
 */
export function seldom<Line>(
  every: number,
  say: (line: Line, left: { leftOut?: number }) => void,
  now: () => number = performance.now.bind(performance),
): (key: string, line: Line) => void {
  const said = new RecentMap<string, { at: number; leftOut: number }>(1_000)
  return (key, line) => {
    const last = said.get(key)
    const at = now()
    if (last && at - last.at < every) {
      last.leftOut++
      return
    }
    said.set(key, { at, leftOut: 0 })
    say(line, last?.leftOut ? { leftOut: last.leftOut } : {})
  }
}

/** Lines at once, and a second: what a server writes must not fill the log, nor keep the event loop busy. */
const BURST = 1_000
const RATE = 200

/**
 * Writes lines that others cause, as many as they may.
 * @param write gets how many were left out since the last one, where any were
 */
export function sparing<Line>(
  write: (line: Line, left: { leftOut?: number }) => void,
  now: () => number = performance.now.bind(performance),
): (line: Line) => void {
  let allowed = BURST
  let since = now()
  let leftOut = 0
  return (line) => {
    if (allowed < 1) {
      const at = now()
      allowed = Math.min(BURST, ((at - since) / 1000) * RATE)
      if (allowed < 1) {
        leftOut++
        return
      }
      since = at
    }
    allowed--
    write(line, leftOut ? { leftOut } : {})
    leftOut = 0
  }
}
