import { shorten } from '../../text/index.ts'

/** Maximum lines of standard error that are remembered, and characters of one in a reason. */
const MAX_LINES = 20
const MAX_SHOWN = 500

/** A line that a child wrote to standard error. */
export interface ErrorLine {
  pid: number | undefined
  /** Not masked. */
  text: string
  /** When it was written, by `performance.now()`. */
  at: number
}

/** A record of the children of a server. */
export class ChildLog {
  /** Children that were started, and those that ended by themselves. */
  started = 0
  lost = 0
  /** The last lines, the oldest first. */
  readonly lines: ErrorLine[] = []
  /** The last child that ended by itself with an error, or did not start; undefined: one has answered since then. */
  failure: { pid: number | undefined; reason: string } | undefined

  wrote(pid: number | undefined, text: string): void {
    this.lines.push({ pid, text, at: performance.now() })
    if (this.lines.length > MAX_LINES) this.lines.shift()
  }

  /** Why the server fails, with the last line of that child; undefined: it does not. @param mask for lines */
  fault(mask: (text: string) => string): string | undefined {
    if (!this.failure) return undefined
    const { pid, reason } = this.failure
    const last = this.lines.findLast((line) => line.pid === pid && line.text.trim())
    return last
      ? `${reason}; its last line on standard error: ${shorten(mask(last.text), MAX_SHOWN)}`
      : reason
  }
}
