import { write, writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

/** UTF-16 code units that wait while nothing can be written. */
const MOST = 8 * 1024 * 1024
/** Milliseconds between two attempts to write into a full pipe. */
const RETRY = 100
/** Milliseconds for what is left as the process exits. */
const PATIENCE = 2_000

/**
 * Lines for a file descriptor, written beside the calls and without blocking them. Where nobody reads fast enough, lines
 * are dropped, and the next one that is written says how many. What waits is written as the process exits.
 */
export class LineWriter implements DestinationStream {
  private waiting: string[] = []
  private size = 0
  private dropped = 0
  /** What is being written, or could not be written yet. */
  private batch = Buffer.alloc(0)
  private isWriting = false
  private timer: NodeJS.Timeout | undefined
  /** Nobody can read any more. */
  private isOver = false

  constructor(private readonly fd: number) {
    process.once('exit', () => this.finish())
  }

  /** @param line ends with a line feed */
  write(line: string): void {
    if (this.isOver) return
    if (this.size + line.length > MOST) {
      this.dropped++
      return
    }
    this.waiting.push(line)
    this.size += line.length
    if (!this.isWriting && !this.timer) this.next()
  }

  private next(): void {
    this.timer = undefined
    this.gather()
    if (this.batch.length === 0) return
    this.isWriting = true
    write(this.fd, this.batch, (error, count) => {
      this.isWriting = false
      if (!error) {
        this.batch = this.batch.subarray(count)
        this.next()
      } else if (isFull(error)) this.timer = setTimeout(() => this.next(), RETRY).unref()
      else this.giveUp()
    })
  }

  /** Unless there is a batch: takes all lines that wait. */
  private gather(): void {
    if (this.batch.length > 0) return
    if (this.dropped) this.waiting.push(droppedLine(this.dropped))
    this.batch = Buffer.from(this.waiting.join(''))
    this.waiting = []
    this.size = 0
    this.dropped = 0
  }

  private giveUp(): void {
    this.isOver = true
    this.batch = Buffer.alloc(0)
    this.waiting = []
  }

  /** There is no event loop any more. */
  private finish(): void {
    // Node waits for what is being written.
    if (this.isWriting) this.batch = Buffer.alloc(0)
    const deadline = performance.now() + PATIENCE
    for (this.gather(); !this.isOver && this.batch.length > 0; this.gather())
      try {
        this.batch = this.batch.subarray(writeSync(this.fd, this.batch))
      } catch (error) {
        if (isFull(error as NodeJS.ErrnoException) && performance.now() < deadline) sleep(RETRY)
        else this.giveUp()
      }
  }
}

function isFull({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN' || code === 'EBUSY'
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** As the log writes its own. */
function droppedLine(lines: number): string {
  const msg = 'lines of the log were dropped: they were not read fast enough'
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lines, msg })}\n`
}
