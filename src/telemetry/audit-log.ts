import { close, constants, fstat, open, read, write } from 'node:fs'
import { stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Logger } from './log.ts'
import { unexpected } from './unexpected.ts'

const files = {
  open: promisify(open),
  close: promisify(close),
  stat: promisify(fstat),
  read: promisify(read),
  write: promisify(write),
}

interface AuditLogOptions {
  to: 'file' | 'stdout' | 'stderr'
  /** Absolute path; created with mode 0600 in an existing folder. */
  path?: string
  log: Logger
  /** Called for every line that is dropped for lack of room. */
  onDropped: () => void
  /** The line that says how many were dropped before it. */
  droppedLine: (lines: number) => string
}

/** Milliseconds for which lines are gathered, unless there are more bytes. */
const DELAY = 100
const BATCH = 64 * 1024
/** Bytes that wait while nothing can be written. */
const MOST = 8 * 1024 * 1024
/** Milliseconds between two attempts to write. */
const RETRY = 1_000
/** Bytes that a pipe takes whole (pipe(7), PIPE_BUF), so that lines of two writers do not mix. */
const WHOLE = 4096
const NEWLINE = 0x0a

/** Lines that must not be lost, written in batches beside the calls. It holds a file: close it. */
export class AuditLog {
  private readonly target: Target
  private waiting: string[] = []
  /** The batch being written, and the bytes of it already written. */
  private batch: Buffer | undefined
  private written = 0
  /** Bytes of `waiting` and `batch`. */
  private bytes = 0
  /** Lines since the last one that told of them. */
  private dropped = 0
  private timer: NodeJS.Timeout | undefined
  private running: Promise<void> | undefined
  private fault: Error | undefined
  private closed = false

  constructor(private readonly options: AuditLogOptions) {
    this.target = new Target(options)
  }

  /** Opens the file; what fails is reported, and tried again. */
  open(): Promise<void> {
    return this.run()
  }

  /** Whether lines would be lost, now or before long. */
  get isStuck(): boolean {
    return this.fault !== undefined || this.bytes > MOST / 2
  }

  /** @param line one object of JSON, without the end of the line */
  write(line: string): void {
    const size = Buffer.byteLength(line) + 1
    if (this.closed || this.bytes + size > MOST) {
      this.dropped++
      this.options.onDropped()
      return
    }
    this.waiting.push(line)
    this.bytes += size
    if (this.fault || this.running) return
    if (this.bytes < BATCH) this.later(DELAY)
    else this.run().catch(unexpected('the audit log'))
  }

  /** Writes what there is, if it can be written. */
  async close(): Promise<void> {
    await this.running
    const deadline = performance.now() + 2_000
    do {
      await this.run()
      // The reader of a pipe may be slow.
      if (this.isLeft && !this.fault) await pause(DELAY)
    } while (this.isLeft && !this.fault && performance.now() < deadline)
    this.closed = true
    clearTimeout(this.timer)
    const rest = this.batch?.subarray(this.written).filter((byte) => byte === NEWLINE).length ?? 0
    const lines = this.waiting.length + rest + this.dropped
    if (lines) this.options.log.error({ lines }, 'lines of the audit log were lost: it could not be written')
    await this.target.close()
  }

  /** Whether there is something to write. */
  private get isLeft(): boolean {
    return this.bytes > 0 || this.dropped > 0
  }

  private later(ms: number): void {
    this.timer ??= setTimeout(() => this.run().catch(unexpected('the audit log')), ms).unref()
  }

  private run(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    this.running ??= this.drain().finally(() => {
      this.running = undefined
      if (!this.closed && (this.fault || this.isLeft)) this.later(this.fault ? RETRY : DELAY)
    })
    return this.running
  }

  private async drain(): Promise<void> {
    try {
      // Less than a batch waits, as each write costs several calls' time.
      do await this.step()
      while (this.batch || this.bytes >= BATCH)
      if (this.fault) this.options.log.info('the audit log is written again')
      this.fault = undefined
    } catch (error) {
      // A pipe is full.
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return
      if (!this.fault) this.report(error as NodeJS.ErrnoException)
      this.fault = error as Error
    }
  }

  private report({ code, message }: NodeJS.ErrnoException): void {
    const { to, path, log } = this.options
    log.error(
      { to, ...(path !== undefined && { path }), code, reason: message },
      'cannot write the audit log',
    )
  }

  /** Writes a batch, or the rest of a partly written one. */
  private async step(): Promise<void> {
    const isNew = await this.target.ready()
    // The beginning of a line that a file which is gone has.
    if (isNew && this.batch && this.written)
      this.written = this.batch.lastIndexOf(NEWLINE, this.written - 1) + 1
    this.batch ??= this.gather()
    if (!this.batch) return
    this.written += await this.target.write(this.batch, this.written)
    if (this.written < this.batch.length) return
    this.bytes -= this.batch.length
    this.batch = undefined
    this.written = 0
  }

  private gather(): Buffer | undefined {
    const { waiting, dropped } = this
    if (dropped) {
      const line = this.options.droppedLine(dropped)
      waiting.push(line)
      this.bytes += Buffer.byteLength(line) + 1
    }
    this.waiting = []
    this.dropped = 0
    return waiting.length ? Buffer.from(`${waiting.join('\n')}\n`) : undefined
  }
}

/** A file, which may be renamed or removed, or a stream of the process. */
class Target {
  private readonly path: string | undefined
  private fd: number | undefined
  private device = 0n
  private inode = 0n

  constructor({ to, path }: Pick<AuditLogOptions, 'to' | 'path'>) {
    this.path = to === 'file' ? path : undefined
    if (to !== 'file') this.fd = to === 'stdout' ? 1 : 2
  }

  /** Opens the file, also if its path now has another file or none. @returns whether it did */
  async ready(): Promise<boolean> {
    const { path } = this
    if (path === undefined) return false
    if (this.fd !== undefined) {
      const found = await stat(path, { bigint: true }).catch(() => undefined)
      if (found?.ino === this.inode && found.dev === this.device) return false
      await this.close()
    }
    const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
    // Opening a named pipe without a reader would block; a symbolic link may have been planted in the folder.
    const fd = await files.open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
    try {
      await this.take(fd)
    } catch (error) {
      await files.close(fd)
      throw error
    }
    this.fd = fd
    return true
  }

  private async take(fd: number): Promise<void> {
    const found = await files.stat(fd, { bigint: true })
    if (!found.isFile()) throw new Error(`${this.path} is not a file`)
    this.inode = found.ino
    this.device = found.dev
    if (found.size === 0n) return
    // A killed process may have left an incomplete line.
    const { buffer } = await files.read(fd, Buffer.alloc(1), 0, 1, Number(found.size) - 1)
    if (buffer[0] !== NEWLINE) await files.write(fd, '\n')
  }

  /** @returns number of bytes written, possibly fewer than given */
  async write(bytes: Buffer, from: number): Promise<number> {
    const rest = bytes.subarray(from)
    const end = this.path === undefined ? rest.lastIndexOf(NEWLINE, WHOLE - 1) + 1 : 0
    const piece = end ? rest.subarray(0, end) : rest
    const { bytesWritten } = await files.write(this.fd as number, piece, 0, piece.length)
    return bytesWritten
  }

  async close(): Promise<void> {
    const { fd } = this
    if (this.path === undefined || fd === undefined) return
    this.fd = undefined
    await files.close(fd).catch(() => {})
  }
}
