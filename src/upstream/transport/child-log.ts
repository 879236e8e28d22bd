/** Maximum lines of standard error that are remembered. */
const MAX_LINES = 20

/** A line that a child wrote to standard error. */
export interface ErrorLine {
  pid: number | undefined
  /** Not masked. */
  text: string
  /** When it was written, by `performance.now()`. */
  at: number
}

/** What the children of a server did. */
export class ChildLog {
  /** Children that were started, and those that ended by themselves. */
  started = 0
  lost = 0
  /** The last lines, the oldest first. */
  readonly lines: ErrorLine[] = []

  wrote(pid: number | undefined, text: string): void {
    this.lines.push({ pid, text, at: performance.now() })
    if (this.lines.length > MAX_LINES) this.lines.shift()
  }
}
