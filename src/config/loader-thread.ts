import { hash } from 'node:crypto'
import { closeSync, openSync, readSync, type Stats, statfsSync, statSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { notPlain } from './plain-file.ts'

/** The thread of `loader.ts`: reads files, and returns those whose bytes differ from what it sent before. */

export interface Request {
  /** Absent: those of the batch, as they were the last time. */
  files?: readonly string[]
  /** Which part of all files of a reader it is. */
  batch?: number
  /** For whom it remembers what it sends; absent: for nobody. */
  reader?: number
  /** These files are not sent: what is remembered of them is forgotten. */
  forget?: true
}

/** What came of a file, by its place in the request. Of a file that is too large there is one byte more than is allowed. */
export type Reply = [at: number, bytes: Uint8Array | NodeJS.ErrnoException]

/** The state of a file. */
interface Known {
  /** Of its bytes. */
  digest: string
  /** What the file system says of it, where that is enough to see any change; absent: the bytes are read each time. */
  stats?: Stats | undefined
}

const MAX: number = workerData
let buffer = Buffer.allocUnsafeSlow(64 * 1024)
interface Memory {
  byFile: Map<string, Known>
  batches: (readonly string[])[]
}

/** By reader. */
const remembered = new Map<number, Memory>()

parentPort?.on('message', (request: Request) => {
  const replies = repliesTo(request)
  // What is not copied takes the event loop of the gateway no time.
  const buffers = replies.flatMap(([, bytes]) =>
    bytes instanceof Uint8Array ? (bytes.buffer as ArrayBuffer) : [],
  )
  parentPort?.postMessage(replies, buffers)
})

function repliesTo({ files: given, batch = 0, reader, forget }: Request): Reply[] {
  const { byFile, batches } = memoryOf(reader)
  const files = given ?? batches[batch]!
  if (forget) {
    for (const file of files) byFile.delete(file)
    return []
  }
  batches[batch] = files
  const replies: Reply[] = []
  for (const [at, file] of files.entries()) {
    const bytes = changed(file, byFile)
    if (bytes) replies.push([at, bytes])
  }
  return replies
}

function memoryOf(reader: number | undefined): Memory {
  const known = reader === undefined ? undefined : remembered.get(reader)
  const memory = known ?? { byFile: new Map(), batches: [] }
  if (reader !== undefined) remembered.set(reader, memory)
  return memory
}

/** Undefined: its bytes are what was sent. */
function changed(file: string, known: Map<string, Known>): Reply[1] | undefined {
  try {
    // Before it is read: what changes meanwhile is a change.
    const stats = statSync(file)
    const fault = notPlain(file, stats)
    if (fault) throw fault
    const before = known.get(file)
    if (before?.stats && isSame(stats, before.stats)) return undefined
    const bytes = read(file)
    const digest = hash('sha256', bytes, 'base64')
    known.set(file, { digest, stats: showsChanges(stats, file) ? stats : undefined })
    return digest === before?.digest ? undefined : Uint8Array.from(bytes)
  } catch (error) {
    known.delete(file)
    // The code of an error is lost when it is copied to another thread.
    const { code, message, name } = error as NodeJS.ErrnoException
    return { name, message, ...(code !== undefined && { code }) }
  }
}

function isSame(one: Stats, other: Stats): boolean {
  return (
    one.ctimeMs === other.ctimeMs &&
    one.mtimeMs === other.mtimeMs &&
    one.size === other.size &&
    one.ino === other.ino &&
    one.dev === other.dev
  )
}

/**
 * ext, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, by statfs(2): each change of a file gives it another time of change, which
 * nobody can set. Network file systems may show what they knew a minute ago.
 */
const LOCAL = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1])
/** By device. */
const isLocal = new Map<number, boolean>()
/** Milliseconds. A file that changed so shortly before may change again without another time. */
const RECENT = 3_000

function showsChanges({ dev, ctimeMs }: Stats, file: string): boolean {
  let local = isLocal.get(dev)
  if (local === undefined) {
    local = LOCAL.has(statfsSync(file).type)
    isLocal.set(dev, local)
  }
  return local && Date.now() - ctimeMs >= RECENT
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
