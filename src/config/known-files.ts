import type { Finding } from '../findings/index.ts'
import { lookAt } from './file-thread.ts'
import { decode, readSource, unreadable } from './files.ts'
import type { Looked } from './reading-thread.ts'
import type { Source } from './types.ts'

/** Reads files, with a finding for each that cannot be; in their order. */
export type FileReader = (files: readonly string[], findings: Finding[]) => AsyncIterable<Source | undefined>

interface Known {
  /** Of the bytes. */
  digest: string
  source: Source
}

/** So many files are asked for at once: more would be a long wait where their texts come back. */
const BATCH = 100

/** For those who read the same files time and again: only those with other bytes than the last time are handed over. */
export function createFileReader(): FileReader {
  let known: ReadonlyMap<string, Known> = new Map()
  return async function* (files, findings) {
    const before = known
    const now = new Map<string, Known>()
    let threaded = true
    for (let from = 0; from < files.length; from += BATCH) {
      const batch = files.slice(from, from + BATCH)
      const digests = batch.map((file) => before.get(file)?.digest)
      // Without the thread they are read as few files are.
      const looked: Looked[] | undefined = threaded
        ? await lookAt({ files: batch, digests }).catch(() => undefined)
        : undefined
      threaded = looked !== undefined
      for (const [i, file] of batch.entries()) {
        const found = looked?.[i]
        if (!looked) yield readSource(file, findings)
        else if (found && 'error' in found) findings.push(unreadable(file, found.error))
        else {
          const source = found ? decode(file, found.bytes, findings) : before.get(file)?.source
          const digest = found?.digest ?? digests[i]
          if (source && digest !== undefined) now.set(file, { digest, source })
          yield source
        }
      }
    }
    known = now
  }
}
