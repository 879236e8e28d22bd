/**
 * Long work in short turns of the event loop: a stage that may take long for a large value asks `turnIsOver`
 * before it begins or goes on, and awaits `nextTurn` where it is. Small work pays for a look at the clock.
 */

/** Milliseconds of work after which others get their turn. */
const TURN = 15

/** When the work of this turn was first asked about. */
let began: number | undefined

function forget(): void {
  began = undefined
}

/** Whether the work of this turn, whoever did it, has taken so long that more of it belongs into another one. */
export function turnIsOver(): boolean {
  const now = performance.now()
  if (began === undefined) {
    began = now
    setImmediate(forget)
    return false
  }
  return now - began > TURN
}

let last: Promise<void> = Promise.resolve()

/** Resolves in a later turn, in which nobody else who waits here goes on: many at once hold no turn together. */
export function nextTurn(): Promise<void> {
  last = last.then(
    () =>
      new Promise((resolve) => {
        setImmediate(() => {
          forget()
          resolve()
        })
      }),
  )
  return last
}

/** Between two stages that may each take long: to be awaited, and resolves at once while the turn is young. */
export function giveWay(): Promise<void> | undefined {
  return turnIsOver() ? nextTurn() : undefined
}
