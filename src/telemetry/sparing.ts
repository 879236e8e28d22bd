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
