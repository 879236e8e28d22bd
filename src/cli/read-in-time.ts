import { closeSync, constants, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { notPlain } from '../config/plain-file.ts'
import { notText } from '../text/index.ts'

/** Milliseconds for which a named pipe may have no writer. */
const PATIENCE = 3000
const PAUSE = 10

/**
 * The bytes of a text: of a file, or of a pipe, through which programs pass secrets.
 * @throws Error for a pipe that nobody writes to, a socket or a device, and for what is no text
 */
export function readInTime(path: string): Buffer {
  const bytes = bytesOf(path)
  const fault = notText(bytes)
  if (fault) throw new Error(`it is ${fault.what}: ${fault.cure}`)
  return bytes
}

function bytesOf(path: string): Buffer {
  const stats = statSync(path)
  if (stats.isFIFO()) return readPipe(path)
  const fault = notPlain(path, stats)
  if (fault) throw fault
  return readFileSync(path)
}

/** Opened without waiting: until there is a writer, a read finds the end; from then on, it fails while nothing is there. */
function readPipe(path: string): Buffer {
  const pipe = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const chunks: Buffer[] = []
    const end = performance.now() + PATIENCE
    for (;;) {
      const chunk = Buffer.alloc(64 * 1024)
      const size = readNow(pipe, chunk)
      if (size === 0 && chunks.length > 0) return Buffer.concat(chunks)
      if (size === 0 && performance.now() > end)
        throw new Error(`it is a pipe into which nothing was written for ${PATIENCE / 1000} s`)
      if (size) chunks.push(chunk.subarray(0, size))
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE)
    }
  } finally {
    closeSync(pipe)
  }
}

/** Undefined: a writer has written nothing yet. */
function readNow(pipe: number, into: Buffer): number | undefined {
  try {
    return readSync(pipe, into)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined
    throw error
  }
}
