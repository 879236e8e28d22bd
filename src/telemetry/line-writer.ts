import { write, writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

/** Bytes that wait while nothing can be written. */
const MOST = 8 * 1024 * 1024
/** Bytes that a pipe takes whole or not at all (pipe(7), PIPE_BUF): no line is cut off as the process exits. */
const WHOLE = 4096
/** Milliseconds until the next attempt to write: at first, and when the reader has read nothing for a while. */
const SOON = 5
const LATER = 100
const NEWLINE = 0x0a

/** Makes what is written of a record. */
type Form = (record: string) => string

/**
 * Writes lines to a file descriptor without blocking. If the reader is too slow, lines are dropped, and the next line that
 * is written says how many. On exit, the lines that wait are written.
 */
export class LineWriter implements DestinationStream {
  private waiting: string[] = []
  private size = 0
  private dropped = 0
  /** Bytes being written, or not yet written. */
  private batch = Buffer.alloc(0)
  /** Bytes that the system may be writing now. */
  private inFlight = 0
  private timer: NodeJS.Timeout | undefined
  private pause = SOON
  /** The reader is gone. */
  private isOver = false

  /** Form of the last record, also used for the writer's own records. */
  private form: Form = asItIs

  constructor(private readonly fd: number) {
    process.once('exit', () => this.finish())
  }

  /** @param record a line of JSON with its line feed */
  write(record: string, form = asItIs): void {
    if (this.isOver) return
    this.form = form
    const line = form(record)
    const size = Buffer.byteLength(line)
    if (this.batch.length + this.size + size > MOST) {
      this.dropped++
      return
    }
    this.waiting.push(line)
    this.size += size
    if (this.inFlight === 0 && !this.timer) this.next()
  }

  private next(): void {
    this.timer = undefined
    const piece = this.piece()
    if (piece.length === 0) return
    this.inFlight = piece.length
    write(this.fd, piece, (error, count) => {
      this.inFlight = 0
      if (!error) {
        this.took(count)
        this.next()
      } else if (error.code === 'EPIPE') this.giveUp()
      // A full pipe is read before long, and a full disk may have room again.
      else this.timer = setTimeout(() => this.next(), this.longer()).unref()
    })
  }

  /** The next lines to write, at most `WHOLE` bytes or one line. */
  private piece(): Buffer {
    if (this.batch.length === 0) this.gather()
    const { batch } = this
    if (batch.length <= WHOLE) return batch
    const end = batch.lastIndexOf(NEWLINE, WHOLE - 1)
    return batch.subarray(0, (end < 0 ? batch.indexOf(NEWLINE) : end) + 1)
  }

  private gather(): void {
    if (this.dropped) this.waiting.push(this.form(droppedRecord(this.dropped)))
    this.batch = Buffer.from(this.waiting.join(''))
    this.waiting = []
    this.size = 0
    this.dropped = 0
  }

  private took(count: number): void {
    this.batch = this.batch.subarray(count)
    this.pause = SOON
  }

  private longer(): number {
    const { pause } = this
    this.pause = Math.min(pause * 2, LATER)
    return pause
  }

  private giveUp(): void {
    this.isOver = true
    this.batch = Buffer.alloc(0)
    this.waiting = []
  }

  /** On exit there are only synchronous calls; a full pipe is tried again, after any other error the rest is lost. */
  private finish(): void {
    // A thread is writing it, as a rule for less time than this.
    if (this.inFlight > 0) sleep(SOON)
    this.batch = this.batch.subarray(this.inFlight)
    const deadline = performance.now() + 2_000
    for (let piece = this.piece(); !this.isOver && piece.length > 0; piece = this.piece())
      try {
        this.took(writeSync(this.fd, piece))
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if ((code === 'EAGAIN' || code === 'EBUSY') && performance.now() < deadline) sleep(this.longer())
        else this.giveUp()
      }
  }
}

const asItIs: Form = (record) => record

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** As the log makes its own. */
function droppedRecord(lines: number): string {
  const msg = 'log lines were dropped because the reader was too slow'
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lines, msg })}\n`
}
