import { stat } from 'node:fs/promises'
import { filesOf } from '../config/index.ts'
import type { Finding } from '../findings/index.ts'

/** State of the served paths on disk. */
export interface Scan {
  /** By file: a stamp that changes when it is written or replaced. */
  stamps: ReadonlyMap<string, string>
  /** By path: why its files cannot be listed. */
  faults: ReadonlyMap<string, string>
}

/** Examines files and folders without reading them. Never throws. */
export async function scan(paths: readonly string[]): Promise<Scan> {
  const stamps = new Map<string, string>()
  const faults = new Map<string, string>()
  for (const path of paths) {
    const findings: Finding[] = []
    for (const file of await filesOf(path, findings)) stamps.set(file, await stampOf(file))
    for (const { file, message } of findings) faults.set(file, message)
  }
  return { stamps, faults }
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
