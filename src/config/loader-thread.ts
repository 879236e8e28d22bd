import { hash } from 'node:crypto'
import { closeSync, openSync, readSync, statfsSync, statSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { notPlain } from './plain-file.ts'

/** The thread of `loader.ts`: reads files, and returns those whose bytes differ from what the loader knows. */

export interface Request {
  files: readonly string[]
  /** What the loader has of each file. */
  known: readonly (Known | undefined)[]
}

/** The state of a file. */
export interface Known {
  /** Of its bytes. */
  digest: string
  /** Of what the file system says of it, where that is enough to see any change; absent: the bytes are read each time. */
  stamp?: string | undefined
}

/**
 * Undefined: unchanged. Without bytes: the bytes are unchanged. Of a file that is too large there is one byte more than is
 * allowed.
 */
export type Reply = (Known & { bytes?: Uint8Array }) | { error: NodeJS.ErrnoException } | undefined

const MAX: number = workerData
let buffer = Buffer.allocUnsafeSlow(64 * 1024)

parentPort?.on('message', ({ files, known }: Request) => {
  parentPort?.postMessage(files.map((file, i) => replyOf(file, known[i])))
})

function replyOf(file: string, known: Known | undefined): Reply {
  try {
    // Before it is read: what changes meanwhile is a change.
    const stamp = stampOf(file)
    if (stamp !== undefined && stamp === known?.stamp) return undefined
    const bytes = read(file)
    const digest = hash('sha256', bytes, 'base64')
    return digest === known?.digest ? { digest, stamp } : { bytes: Uint8Array.from(bytes), digest, stamp }
  } catch (error) {
    // The code of an error is lost when it is copied to another thread.
    const { code, message, name } = error as NodeJS.ErrnoException
    return { error: { name, message, ...(code !== undefined && { code }) } }
  }
}

/**
 * ext, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, by statfs(2): each change of a file gives it another time of change, which
 * nobody can set. Network file systems may show what they knew a minute ago.
 */
const LOCAL = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1])
/** By device. */
const isLocal = new Map<bigint, boolean>()
/** Nanoseconds. A file that changed so shortly before may change again without another time. */
const RECENT = 3_000_000_000n

/** @throws Error for what is no file */
function stampOf(file: string): string | undefined {
  const stats = statSync(file, { bigint: true })
  const fault = notPlain(file, stats)
  if (fault) throw fault
  const { dev, ino, size, mtimeNs, ctimeNs } = stats
  let local = isLocal.get(dev)
  if (local === undefined) {
    local = LOCAL.has(statfsSync(file).type)
    isLocal.set(dev, local)
  }
  if (!local || BigInt(Date.now()) * 1_000_000n - ctimeNs < RECENT) return undefined
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`
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
