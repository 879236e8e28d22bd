import { lstat, realpath, stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { filesOf } from '../config/index.ts'
import type { Finding } from '../findings/index.ts'

/** State of the served paths on disk. */
export interface Scan {
  /** By file: a stamp that changes when it is written or replaced. */
  stamps: ReadonlyMap<string, string>
  /** By path: why its files cannot be listed. */
  faults: ReadonlyMap<string, string>
  /** Folders to watch, with the relevant names; undefined: all names. */
  folders: ReadonlyMap<string, ReadonlySet<string> | undefined>
}

/** Examines files and folders without reading them. Never throws. */
export async function scan(paths: readonly string[]): Promise<Scan> {
  const stamps = new Map<string, string>()
  const faults = new Map<string, string>()
  const folders = new Map<string, Set<string> | undefined>()
  for (const path of paths) {
    const findings: Finding[] = []
    const whole = new Set<string>()
    for (const file of await filesOf(path, findings, whole)) stamps.set(file, await stampOf(file))
    for (const { file, message } of findings) faults.set(file, message)
    for (const link of await turnings(resolve(path))) {
      const folder = dirname(link)
      if (!folders.has(folder)) folders.set(folder, new Set())
      folders.get(folder)?.add(basename(link))
    }
    for (const folder of whole) folders.set(resolve(folder), undefined)
  }
  return { stamps, faults, folders }
}

/** Whether the files are the same and unchanged. */
export function isSame(a: Scan, b: Scan): boolean {
  return isSameMap(a.stamps, b.stamps) && isSameMap(a.faults, b.faults)
}

function isSameMap(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value)
}

async function stampOf(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true })
    return `${dev}-${ino}-${size}-${mtimeNs}-${ctimeNs}`
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}

/** The path, its target, and every part that is a symbolic link: replacing a link changes everything below it. */
async function turnings(path: string): Promise<string[]> {
  const found = new Set([path, await realpath(path).catch(() => path)])
  for (let part = dirname(path); part !== dirname(part); part = dirname(part)) {
    const stats = await lstat(part).catch(() => undefined)
    if (stats?.isSymbolicLink()) found.add(part)
  }
  return [...found]
}
