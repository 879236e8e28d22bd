import { hash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

/** Runs in a thread of its own (`file-thread.ts`): reads files and hands on those whose bytes are others than known. */

export interface Asked {
  files: readonly string[]
  /** What the asker knows of each. */
  digests: readonly (string | undefined)[]
}

/** Undefined: as the asker knows it. Bytes are one more than are allowed at the most. */
export type Looked =
  | { bytes: Uint8Array; digest: string }
  | { error: { code?: string; message: string } }
  | undefined

const MAX: number = workerData
let buffer = Buffer.allocUnsafeSlow(64 * 1024)

parentPort?.on('message', ({ files, digests }: Asked) => {
  parentPort?.postMessage(files.map((file, i) => look(file, digests[i])))
})

function look(file: string, known: string | undefined): Looked {
  try {
    const bytes = read(file)
    const digest = hash('sha256', bytes, 'base64')
    return digest === known ? undefined : { bytes: Uint8Array.from(bytes), digest }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return { error: { ...(code !== undefined && { code }), message } }
  }
}

function read(file: string): Uint8Array {
  const descriptor = openSync(file, 'r')
  try {
    for (let size = 0; ; ) {
      if (size === buffer.length) grow()
      const count = readSync(descriptor, buffer, size, buffer.length - size, null)
      size += count
      if (count === 0 || size > MAX) return buffer.subarray(0, size)
    }
  } finally {
    closeSync(descriptor)
  }
}

function grow(): void {
  const larger = Buffer.allocUnsafeSlow(Math.min(buffer.length * 8, MAX + 1))
  buffer.copy(larger)
  buffer = larger
}
