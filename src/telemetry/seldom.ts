/** Keys that come from outside are bounded; the oldest is forgotten. */
const MAX_KEYS = 1_000

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
  const said = new Map<string, { at: number; leftOut: number }>()
  return (key, line) => {
    const last = said.get(key)
    const at = now()
    if (last && at - last.at < every) {
      last.leftOut++
      return
    }
    said.delete(key)
    said.set(key, { at, leftOut: 0 })
    if (said.size > MAX_KEYS) said.delete(said.keys().next().value as string)
    say(line, last?.leftOut ? { leftOut: last.leftOut } : {})
  }
}
