/** Milliseconds of work after which others have their turn: a call takes two of them to go out and come back. */
const TURN = 1

/** For long loops: after some work what it returns is to be awaited, so that calls go on meanwhile. */
export function takeTurns(): () => Promise<void> | undefined {
  let began = performance.now()
  return () => {
    if (performance.now() - began < TURN) return undefined
    return new Promise((resolve) => {
      setImmediate(() => {
        began = performance.now()
        resolve()
      })
    })
  }
}

/** Work that yields wherever it may pause, and returns what it comes to. */
export type Steps<T> = Generator<void, T, void>

/** Does all of it without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
}

/** Does it with pauses. @param turn of `takeTurns` */
export async function inTurns<T>(steps: Steps<T>, turn: () => Promise<void> | undefined): Promise<T> {
  let step = steps.next()
  while (!step.done) {
    const pause = turn()
    if (pause) await pause
    step = steps.next()
  }
  return step.value
}
