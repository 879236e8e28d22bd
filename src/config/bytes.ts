import { close, open, read } from 'node:fs'
import { MAX_FILE_SIZE } from './yaml/document.ts'

/** Configurations are seldom larger. */
const FIRST = 32 * 1024
/** Buffers that wait for the next file: new ones for ten thousand files would keep the garbage collector busy. */
const spare: Buffer[] = []
const MOST_SPARE = 16

/**
 * Reads a file, device or pipe; at most one byte more than is allowed, also of one that never ends. With callbacks:
 * file handles of promises take half as much time again, which ten thousand files make a second.
 * @param use is called with the bytes, which are others' when it has returned
 * @throws Error as `open` and `read` do
 */
export function readBytes<T>(file: string, use: (bytes: Uint8Array) => T): Promise<T> {
  return new Promise((resolve, reject) => {
    open(file, 'r', (error, descriptor) => {
      if (error) reject(error)
      else readAll(descriptor, (bytes) => resolve(use(bytes)), reject)
    })
  })
}

function readAll(descriptor: number, use: (bytes: Uint8Array) => void, reject: (error: Error) => void): void {
  let buffer = spare.pop() ?? Buffer.allocUnsafeSlow(FIRST)
  let size = 0
  const next = () => {
    if (size === buffer.length) buffer = grown(buffer)
    read(descriptor, buffer, size, buffer.length - size, null, (error, count) => {
      size += count
      if (!error && count > 0 && size <= MAX_FILE_SIZE) return next()
      close(descriptor, () => {
        if (error) reject(error)
        else use(buffer.subarray(0, size))
        if (buffer.length === FIRST && spare.length < MOST_SPARE) spare.push(buffer)
      })
    })
  }
  next()
}

function grown(buffer: Buffer): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.min(buffer.length * 8, MAX_FILE_SIZE + 1))
  buffer.copy(larger)
  return larger
}
