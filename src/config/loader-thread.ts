import { hash } from 'node:crypto'
import { type Stats, statfsSync, statSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { isSame, showsChanges, type Times, timesOf, WIDTH } from './file-times.ts'
import { plainBytes } from './plain-file.ts'

/** The thread of `loader.ts`: reads files, and returns those whose bytes differ from what it sent before. */

export interface Request {
  /** Absent: those of the batch, as they were the last time. */
  files?: readonly string[]
  /** Which part of all files of a reader it is. */
  batch?: number
  /** For whom it remembers what it sends. */
  reader: number
  /** These files are not sent: what is remembered of them is forgotten. */
  forget?: true
}

/** Which of the first batches of a reader may have changed since they were read. */
export interface Look {
  reader: number
  /** How many there are. */
  batches: number
}

/** What came of a file, by its place in the request. Of a file that is too large there is one byte more than is allowed. */
export type Reply = [at: number, bytes: Uint8Array | NodeJS.ErrnoException]

/** The state of a file. */
interface Known {
  /** Of its bytes. */
  digest: string
  /** Absent: the bytes are read each time. */
  times?: Times | undefined
}

const MAX: number = workerData
/** Files that are asked for together. */
interface Batch {
  files: readonly string[]
  /** `WIDTH` numbers of each; NaN: its bytes are read each time. Side by side, as thousands are compared for each reload. */
  times: Float64Array
}

interface Memory {
  byFile: Map<string, Known>
  batches: Batch[]
}

/** By reader. */
const remembered = new Map<number, Memory>()

parentPort?.on('message', (request: Request | Look) => {
  if ('batches' in request) return parentPort?.postMessage(changedBatches(request))
  const replies = repliesTo(request)
  // What is not copied takes the event loop of the gateway no time.
  const buffers = replies.flatMap(([, bytes]) =>
    bytes instanceof Uint8Array ? (bytes.buffer as ArrayBuffer) : [],
  )
  parentPort?.postMessage(replies, buffers)
})

function repliesTo({ files: given, batch = 0, reader, forget }: Request): Reply[] {
  const { byFile, batches } = memoryOf(reader)
  const files = given ?? batches[batch]!.files
  if (forget) {
    for (const file of files) byFile.delete(file)
    return []
  }
  const times = new Float64Array(files.length * WIDTH).fill(Number.NaN)
  batches[batch] = { files, times }
  const replies: Reply[] = []
  for (const [at, file] of files.entries()) {
    const bytes = changed(file, byFile)
    if (bytes) replies.push([at, bytes])
    const known = byFile.get(file)?.times
    if (known) times.set(known, at * WIDTH)
  }
  return replies
}

function changedBatches({ reader, batches: count }: Look): number[] {
  const first = memoryOf(reader).batches.slice(0, count)
  return first.flatMap(({ files, times }, i) =>
    files.every((file, at) => isUnchanged(file, times, at * WIDTH)) ? [] : [i],
  )
}

/** Whether the bytes of a file are known to be what was sent, without a look into them. */
function isUnchanged(file: string, times: Float64Array, at: number): boolean {
  if (Number.isNaN(times[at])) return false
  try {
    return isSame(statSync(file), times, at)
  } catch {
    return false
  }
}

function memoryOf(reader: number): Memory {
  const memory = remembered.get(reader) ?? { byFile: new Map(), batches: [] }
  remembered.set(reader, memory)
  return memory
}

/** Undefined: its bytes are what was sent. */
function changed(file: string, known: Map<string, Known>): Reply[1] | undefined {
  try {
    // Before it is read: what changes meanwhile is a change.
    const stats = statSync(file)
    const before = known.get(file)
    if (before?.times && isSame(stats, before.times)) return undefined
    const bytes = plainBytes(file, stats, MAX)
    const digest = hash('sha256', bytes, 'base64')
    known.set(file, { digest, times: lastingTimes(stats, file) })
    return digest === before?.digest ? undefined : Uint8Array.from(bytes)
  } catch (error) {
    known.delete(file)
    // The code of an error is lost when it is copied to another thread.
    const { code, message, name } = error as NodeJS.ErrnoException
    return { name, message, ...(code !== undefined && { code }) }
  }
}

/** Of file systems, by device. */
const types = new Map<number, number>()

/** Undefined: the bytes have to be read each time. */
function lastingTimes(stats: Stats, file: string): Times | undefined {
  const type = types.get(stats.dev) ?? statfsSync(file).type
  types.set(stats.dev, type)
  return showsChanges(stats, type) ? timesOf(stats) : undefined
}
