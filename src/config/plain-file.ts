import { type BigIntStats, closeSync, openSync, readSync, realpathSync, type Stats } from 'node:fs'

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

let buffer = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * Reads a file synchronously: its bytes, or the first `max` and one more. The next call overwrites them.
 * @param stats of what the path leads to
 * @throws what `notPlain` says, and what reading fails with
 */
export function plainBytes(file: string, stats: Stats, max: number): Uint8Array {
  const fault = notPlain(file, stats)
  if (fault) throw fault
  const descriptor = openSync(file, 'r')
  try {
    for (let size = 0; ; ) {
      const count = readSync(descriptor, buffer, size, buffer.length - size, null)
      size += count
      if (count === 0 || size > max) return buffer.subarray(0, size)
      if (size === buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.min(size * 8, max + 1))
        buffer.copy(larger)
        buffer = larger
      }
    }
  } finally {
    closeSync(descriptor)
  }
}
