import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type Finding, finding } from '../findings/index.ts'
import { capital, notText } from '../text/index.ts'
import type { Source } from './model.ts'
import { NOT_PLAIN, notPlain } from './plain-file.ts'
import { MAX_FILE_SIZE } from './yaml/syntax.ts'

/** Files that are read at the same time; more are no faster. */
const AT_ONCE = 16

/** Reads files, in their order. @param findings gets one for each that cannot be read, whose source is undefined */
export async function* readFiles(
  files: readonly string[],
  findings: Finding[],
): AsyncGenerator<Source | undefined> {
  const ahead: Promise<Source | undefined>[] = []
  for (const file of files) {
    ahead.push(readSource(file, findings))
    if (ahead.length === AT_ONCE) yield await ahead.shift()
  }
  yield* ahead
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

/** Reads a file; of a file that is too large, one byte more than the limit. */
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
  // A shell passes it for a variable in quotes that is not set.
  if (file === '')
    return finding('unreadable-file', '""', 'the path is empty', { hint: 'Set the variable that holds it' })
  const [reason, hint] = REASONS[code] ?? [`the file cannot be read: ${message}`, 'Check the path']
  return finding('unreadable-file', file, reason, { hint })
}
