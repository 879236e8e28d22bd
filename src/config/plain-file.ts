import { type BigIntStats, realpathSync, type Stats } from 'node:fs'

/** The code of an error for what is no file. */
export const NOT_PLAIN = 'NOT_PLAIN'

/**
 * Why something is not read as a file: it would be waited for, or never end. The null device and what a shell passes as
 * `<(…)` are read.
 * @param stats of what the path leads to
 */
export function notPlain(path: string, stats: Stats | BigIntStats): Error | undefined {
  if (stats.isFile() || stats.isDirectory()) return undefined
  const target = targetOf(path)
  if (target === '/dev/null') return undefined
  // A pipe without a name has a path only among the descriptors of a process.
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
