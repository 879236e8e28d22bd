/** Outside of `withinWork` there is always more. A small integer, as V8 would put a double on the heap each time. */
const ENDLESS = 2 ** 30
/** What is left of the work that may be done in one turn, in steps of about 10 ns. */
let left = ENDLESS
let turn: object | undefined

/** Thrown where a value would take too long to check. */
export class WorkError extends Error {}

/**
 * Runs what counts its work by `spend`, such as a validator of `foreignAjv`.
 * @throws WorkError when it does more than `steps`
 */
export function withinWork<T>(steps: number, run: () => T): T {
  const before = { left, turn }
  left = steps
  turn = {}
  try {
    return run()
  } finally {
    ;({ left, turn } = before)
  }
}

/** @throws WorkError when nothing is left */
export function spend(steps: number): void {
  left -= steps
  if (left >= 0) return
  if (turn) throw new WorkError('too much work')
  left = ENDLESS
}

/** A different object for each `withinWork`, undefined outside: what is known for that time can be tied to it. */
export function currentTurn(): object | undefined {
  return turn
}
