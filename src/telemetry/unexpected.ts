import type { Logger } from './log.ts'

/**
 * Faults of the gateway's own: what threw although nothing should have. They are logged and counted; whatever they
 * concern ends by itself, and the process serves on.
 */
let report = (error: unknown, where: string) => console.error(`internal error in ${where}:`, error)
let count = 0

/** How many there were in this process. */
export function unexpectedCount(): number {
  return count
}

/**
 * Ends a promise that is not awaited: `.catch(unexpected('where'))`.
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

/**
 * Reports to the log from now on, also what reaches the event loop: an exception in a handler of a socket, a child or a
 * timer, or an uncaught rejection.
 */
export function catchUnexpected(log: Logger): void {
  report = (error, where) => {
    // The log itself could not be written, as on a full disk: another line would only fail again.
    if ((error as NodeJS.ErrnoException | undefined)?.syscall === 'write') return
    log.error({ err: shortened(error), where }, 'internal error')
  }
  process.on('uncaughtException', unexpected('an event handler'))
  process.on('unhandledRejection', unexpected('a promise'))
}

function shortened(error: unknown): unknown {
  // Characters of a message that are logged: it may quote what came from outside.
  if (!(error instanceof Error) || error.message.length <= 2_000) return error
  const { name, message, stack = '' } = error
  const short = `${message.slice(0, 2_000)}…`
  return { type: name, message: short, stack: stack.replace(message, () => short) }
}
