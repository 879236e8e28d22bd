import { type BigIntStats, realpathSync, type Stats, statSync } from 'node:fs'

/** The code of an error for a path that is not a regular file. */
export const NOT_PLAIN = 'NOT_PLAIN'

/** Whether a path leads to a regular file that this process may see. */
export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/**
 * Why a path is not read as a file: reading a pipe or device could block, or never end. The null device and the
 * `<(…)` of a shell are read.
 * @param stats of what the path leads to
 */
export function notPlain(path: string, stats: Stats | BigIntStats): Error | undefined {
  if (stats.isFile() || stats.isDirectory()) return undefined
  const target = targetOf(path)
  if (target === '/dev/null') return undefined
  // An unnamed pipe has a path only below /dev/fd.
  if (stats.isFIFO() && (target === undefined || target.startsWith('/dev/fd/'))) return undefined
  const kind = stats.isFIFO() ? 'a named pipe' : stats.isSocket() ? 'a socket' : 'a device'
  return Object.assign(new Error(`this is ${kind}, not a file`), { code: NOT_PLAIN })
}

function targetOf(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}
