import { createReadStream, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type Finding, finding } from '../findings/index.ts'
import { capital, notText, pause } from '../text/index.ts'
import type { Look, Reply, Request } from './loader-thread.ts'
import type { Source } from './model.ts'
import { NOT_PLAIN, notPlain, plainBytes } from './plain-file.ts'
import { startThread, type Thread } from './thread.ts'
import { MAX_FILE_SIZE } from './yaml/syntax.ts'

/** Reads files, in their order and some at a time, with a finding for each that cannot be read. */
export type FileReader = (
  files: readonly string[],
  findings: Finding[],
) => AsyncIterable<readonly (Source | undefined)[]>

/** As many files are read in a thread: to ask for each would take the event loop ten times as long. */
const MANY = 100
/** So many files are asked of the thread at once: more would be a long wait where their texts are decoded. */
const BATCH = 100
/** Fewer than `MANY` are read so many at once: more are no faster. */
const AT_ONCE = 16

/** What came of a file: its text, or why there is none. */
interface Outcome {
  source: Source | undefined
  findings: readonly Finding[]
}

let readers = 0

/** What a batch of files came to. */
interface Contents {
  sources: readonly (Source | undefined)[]
  findings: readonly Finding[]
}

/** Files that are asked for together. */
interface Batch {
  readonly files: readonly string[]
  /** Absent: not known yet, or one of them has changed since. */
  contents: Contents | undefined
  /** How often that was. */
  changes: number
}

/** Reads files once, 100 at a time and synchronously: to start a thread takes longer than to read a thousand files. */
export const readFiles: FileReader = async function* (files, findings) {
  if (files.length < MANY) return yield* readFew(files, findings)
  for (let from = 0; from < files.length; from += BATCH)
    yield files.slice(from, from + BATCH).map((file) => {
      const { source, findings: found } = readNow(file)
      findings.push(...found)
      return source
    })
}

function readNow(file: string): Outcome {
  try {
    return decoded(file, plainBytes(file, statSync(file), MAX_FILE_SIZE))
  } catch (error) {
    return decoded(file, error as NodeJS.ErrnoException)
  }
}

/** What the thread has sent of each file that it remembers, decoded when it is wanted. */
class SentFiles {
  private readonly sent = new Map<string, Outcome | Reply[1]>()

  constructor(private readonly reader: number) {}

  set(file: string, bytes: Reply[1]): void {
    this.sent.set(file, bytes)
  }

  readonly outcomeOf = (file: string): Outcome | Promise<Outcome> => {
    const known = this.sent.get(file)
    // Another run of the reader has forgotten it meanwhile.
    if (!known) return readOutcome(file)
    if ('source' in known) return known
    const outcome = decoded(file, known)
    this.sent.set(file, outcome)
    return outcome
  }

  forgetOthers(files: readonly string[]): void {
    const { sent, reader } = this
    if (sent.size <= files.length) return
    const here = new Set(files)
    const gone = [...sent.keys()].filter((file) => !here.has(file))
    for (const file of gone) sent.delete(file)
    askThread({ files: gone, reader, forget: true }).catch(() => {})
  }
}

/**
 * A reader that gives the very same source for a file whose bytes are those of its last run, and the very same list of
 * them where no file of it has changed.
 */
export function createFileReader(): FileReader {
  /** For whom the thread remembers what it sent. */
  const reader = readers++
  const sent = new SentFiles(reader)
  /** Which files the thread knows to be in each batch: their names are not sent again. */
  let told: { to: unknown; batches: Batch[] } = { to: undefined, batches: [] }
  /** Of the last run that came to its end. */
  let last: { files: readonly string[]; batches: readonly Batch[] } = { files: [], batches: [] }
  const toldOf = (files: readonly string[], at: number) => {
    const to = thread()
    if (told.to !== to) told = { to, batches: [] }
    const before = told.batches[at]
    const isSame = before?.files.length === files.length && files.every((file, i) => file === before.files[i])
    return isSame ? before : undefined
  }
  /** Which batches have to be asked for; undefined: all. */
  const stale = async (files: readonly string[]): Promise<ReadonlySet<number> | undefined> => {
    const { batches } = last
    const isTold = told.to === running && batches.every((batch, at) => told.batches[at] === batch)
    if (files !== last.files || !isTold) return undefined
    return new Set(await askThread({ reader, batches: batches.length }))
  }
  const ask = async (files: readonly string[], at: number): Promise<Batch> => {
    const before = toldOf(files, at)
    const batch = before ?? { files, contents: undefined, changes: 0 }
    told.batches[at] = batch
    const replies = await askThread(before ? { reader, batch: at } : { files, reader, batch: at })
    // In the order of the replies, even after their readers have gone.
    for (const [i, bytes] of replies) sent.set(files[i]!, bytes)
    if (replies.length > 0) {
      batch.contents = undefined
      batch.changes++
    }
    return batch
  }
  return async function* (files, findings) {
    if (files.length < MANY) return yield* readFew(files, findings)
    const changed = await stale(files).catch(() => undefined)
    const known = changed && last.batches
    const askFor = (from: number) => {
      const at = from / BATCH
      if (known && !changed.has(at)) return known[at]
      const batch = files.slice(from, from + BATCH)
      const asked = batch.length > 0 ? ask(batch, at) : undefined
      // Awaited below, after what was read before has been used.
      asked?.catch(() => {})
      return asked
    }
    const batches: Batch[] = []
    let asked = askFor(0)
    for (let from = 0; asked; from += BATCH) {
      let batch: Batch
      try {
        batch = asked instanceof Promise ? await asked : asked
      } catch {
        return yield* readFew(files.slice(from), findings)
      }
      batches.push(batch)
      // Read while the files of this batch are parsed.
      asked = askFor(from + BATCH)
      const { changes } = batch
      const contents = batch.contents ?? (await contentsOf(batch.files, sent.outcomeOf))
      if (batch.changes === changes) batch.contents = contents
      findings.push(...contents.findings)
      yield contents.sources
    }
    last = { files, batches }
    sent.forgetOthers(files)
  }
}

async function contentsOf(
  files: readonly string[],
  outcomeOf: (file: string) => Outcome | Promise<Outcome>,
): Promise<Contents> {
  const outcomes: Outcome[] = []
  for (const file of files) {
    const outcome = outcomeOf(file)
    outcomes.push(outcome instanceof Promise ? await outcome : outcome)
    await pause()
  }
  const findings = outcomes.flatMap((outcome) => outcome.findings)
  return { sources: outcomes.map(({ source }) => source), findings }
}

async function readOutcome(file: string): Promise<Outcome> {
  const findings: Finding[] = []
  return { source: await readSource(file, findings), findings }
}

function decoded(file: string, bytes: Reply[1]): Outcome {
  if (!(bytes instanceof Uint8Array)) return { source: undefined, findings: [unreadable(file, bytes)] }
  const findings: Finding[] = []
  return { source: decode(file, bytes, findings), findings }
}

async function* readFew(files: readonly string[], findings: Finding[]): ReturnType<FileReader> {
  const ahead: Promise<Source | undefined>[] = []
  for (const [i, file] of files.entries()) {
    ahead.push(readSource(file, findings))
    if (i >= AT_ONCE - 1) yield [await ahead.shift()]
  }
  for (const each of ahead) yield [await each]
}

/** Reads one file, or what a shell passes as `<(…)`. Undefined, with a finding: unreadable. */
export async function readSource(file: string, findings: Finding[]): Promise<Source | undefined> {
  try {
    return decode(file, await readBytes(file), findings)
  } catch (error) {
    findings.push(unreadable(file, error))
    return undefined
  }
}

/** Of a file that is too large one byte more than is allowed. */
async function readBytes(file: string): Promise<Uint8Array> {
  const fault = notPlain(file, await stat(file))
  if (fault) throw fault
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(file, { end: MAX_FILE_SIZE })) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const UTF8 = new TextDecoder()

/** The text of a file, or undefined with a finding that says why there is none. */
export function decode(file: string, bytes: Uint8Array, findings: Finding[]): Source | undefined {
  if (bytes.byteLength > MAX_FILE_SIZE) {
    findings.push(finding('file-too-large', file, 'the file is larger than 4 MiB', { hint: 'Split it' }))
    return undefined
  }
  const fault = notText(bytes)
  if (!fault) return { file, text: UTF8.decode(bytes) }
  const hint = capital(fault.cure)
  findings.push(finding('unreadable-file', file, `the file is ${fault.what}`, { hint }))
  return undefined
}

const REASONS: Record<string, [string, string]> = {
  ENOENT: ['there is no such file or folder', 'Check the path and its spelling'],
  EACCES: ['permission denied', 'Give this user permission to read the file'],
  EPERM: ['permission denied', 'Give this user permission to read the file'],
  EISDIR: ['this is a folder, not a file', 'Name a file'],
  ENOTDIR: ['a part of the path is not a folder', 'Check the path and its spelling'],
  ELOOP: ['the symbolic links of this path form a loop', 'Fix the link'],
}

export function unreadable(file: string, error: unknown): Finding {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code === NOT_PLAIN)
    return finding('unreadable-file', file, message, { hint: 'Name a file, or `-` for standard input' })
  const [reason, hint] = REASONS[code] ?? [`the file cannot be read: ${message}`, 'Check the path']
  return finding('unreadable-file', file, reason, { hint })
}

let running: Thread<Request | Look, Reply[] | number[]> | undefined

/** Is started when it is first needed and keeps no process alive. */
function thread(): NonNullable<typeof running> {
  running ??= startThread('config/loader-thread', 'files', MAX_FILE_SIZE, () => {
    running = undefined
  })
  return running
}

export async function askThread(request: Request): Promise<Reply[]>
export async function askThread(request: Look): Promise<number[]>
export async function askThread(request: Request | Look): Promise<Reply[] | number[]> {
  return thread().ask(request)
}
