/** Milliseconds of work after which others have their turn. */
const TURN = 2

/** For long loops: after some milliseconds of work what it returns is to be awaited, so that calls go on meanwhile. */
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
