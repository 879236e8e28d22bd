import { readFile, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Adapter } from 'lowdb'
import { decodeStore, reachFile, writeStore } from '../durable/file.ts'
import { acquireLock, type Lock } from '../durable/lock.ts'
import { StoreError } from '../durable/store-error.ts'
import { read, type Snapshot, write } from './plant-format.ts'

export interface StoreFile {
  snapshot: Snapshot
  /** Its `write` resolves once the snapshot is durable, and rejects with a StoreError. */
  adapter: Adapter<Snapshot>
  /** Lets go of the lock. No write may be under way. */
  close(): Promise<void>
}

/**
 * Opens the file for this process alone, makes its folders, and reads it.
 * The lock is the file `<path>.lock` beside it.
 * @throws StoreError
 */
export async function openFile(given: string): Promise<StoreFile> {
  const path = await reachFile(given).catch((error: Error) => {
    const advice = 'make it, or set `plants.file` to a path that can be written'
    throw new StoreError(
      'failed',
      `cannot make the folder of the plant store ${resolve(given)}: ${error.message}; ${advice}`,
    )
  })
  const lock = await lockOf(path)
  try {
    await rm(`${path}.tmp`, { force: true })
    const snapshot = await load(path)
    const adapter = { read: () => load(path), write: (data: Snapshot) => writeStore(path, lock, write(data)) }
    return { snapshot, adapter, close: () => lock.release() }
  } catch (error) {
    await lock.release()
    if (error instanceof StoreError) throw error
    throw new StoreError('failed', `cannot open the plant store ${path}: ${(error as Error).message}`)
  }
}

async function lockOf(path: string): Promise<Lock> {
  const lockPath = `${path}.lock`
  const lock = await acquireLock(lockPath).catch((error: Error) => {
    throw new StoreError(
      'failed',
      `cannot lock the plant store ${path}: ${error.message}; ` +
        'its folder must be writable and on a file system with hard links',
    )
  })
  if ('release' in lock) return lock
  throw new StoreError(
    'locked',
    `the plant store ${path} is in use by process ${lock.pid} (lock file ${lockPath}); ` +
      'stop that process, or set `plants.file` to another path',
  )
}

async function load(path: string): Promise<Snapshot> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map()
    throw new StoreError('failed', `cannot read the plant store ${path}: ${(error as Error).message}`)
  }
  return decodeStore(`the plant store ${path}`, bytes, read)
}
