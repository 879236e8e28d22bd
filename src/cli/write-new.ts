import { existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Writes new files, all or none.
 * @param force replaces existing files
 * @throws Error with the existing paths
 */
export function writeNew(files: ReadonlyMap<string, string>, force = false): void {
  const taken = [...files.keys()].filter((path) => isThere(path))
  if (taken.length > 0 && !force) {
    const verb = taken.length === 1 ? 'exists' : 'exist'
    const names = taken.slice(0, 5).join(', ')
    const more = taken.length > 5 ? ` and ${taken.length - 5} more` : ''
    throw new Error(`${names}${more} already ${verb}; nothing was written`)
  }
  const done: string[] = []
  try {
    for (const [path, text] of files) {
      const made = mkdirSync(dirname(path), { recursive: true })
      if (made !== undefined) done.push(made)
      // Files created meanwhile are kept.
      writeFileSync(path, text, { flag: force ? 'w' : 'wx' })
      if (!taken.includes(path)) done.push(path)
    }
  } catch (error) {
    for (const path of done.reverse()) rmSync(path, { recursive: true, force: true })
    const { code, path, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || code === 'ENOTDIR') throw new Error(`${path} is in the way; nothing was written`)
    throw new Error(`cannot write: ${message}; nothing was written`)
  }
}

/** A dangling link exists too. */
function isThere(path: string): boolean {
  return existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
