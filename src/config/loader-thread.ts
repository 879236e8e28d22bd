import { hash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

/** The thread of `loader.ts`: reads files, and returns those whose bytes differ from what the loader knows. */

export interface Request {
  files: readonly string[]
  /** Of the bytes that the loader has of each file. */
  digests: readonly (string | undefined)[]
}

/** Undefined: unchanged. Of a file that is too large there is one byte more than is allowed. */
export type Reply = { bytes: Uint8Array; digest: string } | { error: NodeJS.ErrnoException } | undefined

const MAX: number = workerData
let buffer = Buffer.allocUnsafeSlow(64 * 1024)

parentPort?.on('message', ({ files, digests }: Request) => {
  parentPort?.postMessage(files.map((file, i) => replyOf(file, digests[i])))
})

function replyOf(file: string, known: string | undefined): Reply {
  try {
    const bytes = read(file)
    const digest = hash('sha256', bytes, 'base64')
    return digest === known ? undefined : { bytes: Uint8Array.from(bytes), digest }
  } catch (error) {
    // The code of an error is lost when it is copied to another thread.
    const { code, message, name } = error as NodeJS.ErrnoException
    return { error: { name, message, ...(code !== undefined && { code }) } }
  }
}

function read(file: string): Uint8Array {
  const descriptor = openSync(file, 'r')
  try {
    for (let size = 0; ; ) {
      const count = readSync(descriptor, buffer, size, buffer.length - size, null)
      size += count
      if (count === 0 || size > MAX) return buffer.subarray(0, size)
      if (size === buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.min(size * 8, MAX + 1))
        buffer.copy(larger)
        buffer = larger
      }
    }
  } finally {
    closeSync(descriptor)
  }
}
