import { open, readFile, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { decodeStore, reachFile, writeStore } from '../store/file.ts'
import { acquireLock, type Lock } from '../store/lock.ts'
import { StoreError, writeError } from '../store/store-error.ts'
import type { PlantAdapter } from './lowdb.ts'
import { erasures, read, type Snapshot, write } from './plant-format.ts'

interface StoreFile {
  snapshot: Snapshot
  adapter: PlantAdapter
  /** Releases the lock. No write may be running. */
  close(): Promise<void>
}

/**
 * Creates the folders of the file, locks it by `<path>.lock`, and reads it.
 * @throws StoreError
 */
export async function openFile(given: string): Promise<StoreFile> {
  const path = await reachFile(given).catch((error: Error) => {
    const advice = 'create it, or set `plants.file` to a writable path'
    throw new StoreError(
      'failed',
      `cannot create the folder of the plant store ${resolve(given)}: ${error.message}; ${advice}`,
    )
  })
  const lock = await lockOf(path)
  try {
    await rm(`${path}.tmp`, { force: true })
    const snapshot = await load(path)
    const adapter: PlantAdapter = {
      read: () => load(path),
      write: (data) => writeStore(path, lock, write(data)),
      erase: (ids) => erase(path, lock, ids),
    }
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
        'its folder must be writable and on a file system with symbolic links',
    )
  })
  if ('release' in lock) return lock
  throw new StoreError(
    'locked',
    `the plant store ${path} is in use by process ${lock.pid} (lock file ${lockPath}); ` +
      'stop that process, or set `plants.file` to another path',
  )
}

/** Marks plants as deleted by changing one byte of each in place, which needs no space and is atomic. */
async function erase(path: string, lock: Lock, ids: readonly bigint[]): Promise<void> {
  try {
    if (!(await lock.held())) throw new StoreError('locked', `another process took over ${path}`)
    const file = await open(path, 'r+')
    try {
      const marks = erasures(await file.readFile(), ids)
      for (const { at, byte } of marks) await file.write(byte, 0, 1, at)
      await file.datasync()
    } finally {
      await file.close()
    }
  } catch (error) {
    throw writeError(path, error)
  }
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
