import { closeSync, constants, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { notPlain } from '../config/plain-file.ts'
import { notText } from '../text/index.ts'

/** Milliseconds that a named pipe may be without a writer. */
const WRITER_TIMEOUT = 3000
const PAUSE = 10

/** Why a file cannot be read, by the code of the error. */
export const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  ENOTDIR: 'a part of its path is not a folder',
  ELOOP: 'the symbolic links of its path form a loop',
}

/**
 * The bytes of a file that the command line names.
 * @param what description for the message, such as `the settings file`
 * @throws Error with the reason
 */
export function readNamed(path: string, what: string, read: (path: string) => Buffer = readFileSync): Buffer {
  try {
    return read(path)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new Error(`cannot read ${what} ${path}: ${REASONS[code] ?? message}`)
  }
}

/**
 * The bytes of a text file, or of a pipe with secrets.
 * @throws Error for a pipe without a writer, a socket or device, and for binary data
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

/** Opened non-blocking: without a writer a read returns the end; with a writer, it fails while there is no data. */
function readPipe(path: string): Buffer {
  const pipe = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const chunks: Buffer[] = []
    const end = performance.now() + WRITER_TIMEOUT
    for (;;) {
      const chunk = Buffer.alloc(64 * 1024)
      const size = readNow(pipe, chunk)
      if (size === 0 && chunks.length > 0) return Buffer.concat(chunks)
      if (size === 0 && performance.now() > end)
        throw new Error(`it is a pipe into which nothing was written for ${WRITER_TIMEOUT / 1000} s`)
      if (size) chunks.push(chunk.subarray(0, size))
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE)
    }
  } finally {
    closeSync(pipe)
  }
}

/** Undefined: the writer has written nothing yet. */
function readNow(pipe: number, into: Buffer): number | undefined {
  try {
    return readSync(pipe, into)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined
    throw error
  }
}
