import type { Stats } from 'node:fs'

/** What the file system says of a file or folder, as numbers that take little memory. */
export type Times = readonly number[]

/** How many numbers that are. */
export const WIDTH = 5

export function timesOf({ ctimeMs, mtimeMs, size, ino, dev }: Stats): Times {
  return [ctimeMs, mtimeMs, size, ino, dev]
}

/** @param at where the times begin in a list of those of many */
export function isSame(stats: Stats, times: ArrayLike<number>, at = 0): boolean {
  return (
    stats.ctimeMs === times[at] &&
    stats.mtimeMs === times[at + 1] &&
    stats.size === times[at + 2] &&
    stats.ino === times[at + 3] &&
    stats.dev === times[at + 4]
  )
}

/**
 * ext, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, by statfs(2): each change of a file, and of the names in a folder, gives it
 * another time of change, which cannot be set. Network file systems may show what they knew a minute ago.
 */
const LOCAL = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1])
/** Milliseconds. What changed so shortly before may change again without another time. */
const RECENT = 3_000

/**
 * Whether any change from then on gives it another time.
 * @param type of the file system, as statfs(2) gives it
 * @param now when it was looked at, in milliseconds since 1970
 */
export function showsChanges({ ctimeMs }: Stats, type: number, now = Date.now()): boolean {
  return LOCAL.has(type) && now - ctimeMs >= RECENT
}
