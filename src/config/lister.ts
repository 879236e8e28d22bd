import { stat, statfs } from 'node:fs/promises'
import type { Finding } from '../findings/index.ts'
import { isSame, showsChanges, type Times, timesOf } from './file-times.ts'
import { filesAt, type NamedFiles } from './files.ts'

/** As `filesAt`. */
export type FileLister = (findings: Finding[]) => Promise<NamedFiles>

/** Lists the files of paths time and again: the very same object where they are the same as the last time. */
export function createFileLister(paths: readonly string[]): FileLister {
  let last: NamedFiles | undefined
  /** Of all folders in which they are; absent: they do not show all changes. */
  let times: ReadonlyMap<string, Times> | undefined
  return async (findings) => {
    if (last && times && (await areSame(times))) return last
    const began = Date.now()
    const [faults, folders, links] = [[] as Finding[], new Set<string>(), new Map<string, boolean>()]
    const files = await filesAt(paths, faults, folders, links)
    findings.push(...faults)
    // A link leads to what no folder shows.
    const isWhole = faults.length === 0 && links.size === 0 && paths.every((path) => folders.has(path))
    times = isWhole ? await timesOfAll(folders, began) : undefined
    if (!(isWhole && last && isAlike(files, last))) last = files
    return last
  }
}

async function areSame(times: ReadonlyMap<string, Times>): Promise<boolean> {
  for (const [folder, before] of times) {
    const now = await stat(folder).catch(() => undefined)
    if (!now || !isSame(now, before)) return false
  }
  return true
}

async function timesOfAll(
  folders: ReadonlySet<string>,
  listed: number,
): Promise<ReadonlyMap<string, Times> | undefined> {
  const all = new Map<string, Times>()
  for (const folder of folders) {
    try {
      const stats = await stat(folder)
      if (!showsChanges(stats, (await statfs(folder)).type, listed)) return undefined
      all.set(folder, timesOf(stats))
    } catch {
      return undefined
    }
  }
  return all
}

function isAlike(one: NamedFiles, other: NamedFiles): boolean {
  if (other.outside.size > 0) return false
  return [...one.found].every(([path, files]) => {
    const others = other.found.get(path) ?? []
    return files.length === others.length && files.every((file, i) => file === others[i])
  })
}
