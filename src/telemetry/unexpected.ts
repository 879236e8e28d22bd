/**
 * Faults of the gateway's own: what threw although nothing should have. They are logged and counted; whatever they
 * concern ends by itself, and the process serves on.
 */
export type UnexpectedReport = (error: unknown, where: string) => void

let report: UnexpectedReport = (error, where) => console.error(`internal error in ${where}:`, error)
let count = 0

/** Says where reports go from now on; the default is standard error. */
export function reportUnexpected(to: UnexpectedReport): void {
  report = to
}

/** How many there were in this process. */
export function unexpectedCount(): number {
  return count
}

/**
 * What to end a promise with that nobody waits for: `.catch(unexpected('where'))`.
 * @param then runs after the report, to end what the fault concerns
 */
export function unexpected(where: string, then?: () => void): (error: unknown) => void {
  return (error) => {
    count++
    try {
      report(error, where)
    } catch {
      // A log that cannot be written must not take the process with it.
    }
    then?.()
  }
}

/** Catches what reaches the event loop: an exception in a handler of a socket, a child or a timer, or a rejection. */
export function catchUnexpected(): void {
  process.on('uncaughtException', unexpected('an event handler'))
  process.on('unhandledRejection', unexpected('a promise'))
}
