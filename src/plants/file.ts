import { readFile, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Adapter } from 'lowdb'
import { acquireLock } from '../durable/lock.ts'
import { reachFile, replaceFile } from '../durable/replace.ts'
import { FormatError, read, type Snapshot, write } from './format.ts'
import { PlantsError, StoreError } from './store.ts'

export interface StoreFile {
  snapshot: Snapshot
  adapter: Adapter<Snapshot>
  /** Lets go of the lock. No write may be under way. */
  close(): Promise<void>
}

/**
 * Opens the file for this process alone, makes its folders, and reads it.
 * The lock is the file `<path>.lock` beside it.
 * @throws PlantsError
 */
export async function openFile(given: string): Promise<StoreFile> {
  const path = await reach(given)
  const lock = await lockOf(path)
  const temporary = `${path}.tmp`
  try {
    await rm(temporary, { force: true })
    const snapshot = await load(path)
    const adapter: Adapter<Snapshot> = {
      read: () => load(path),
      async write(data) {
        try {
          if (!(await lock.held())) throw new StoreError('failed', `another process took over ${path}`)
          await replaceFile(path, temporary, write(data))
        } catch (error) {
          // Whatever is left of a failed write only takes space, which may be what is missing.
          await rm(temporary, { force: true }).catch(() => {})
          throw storeError(path, error)
        }
      },
    }
    return { snapshot, adapter, close: () => lock.release() }
  } catch (error) {
    await lock.release()
    if (error instanceof PlantsError) throw error
    throw new PlantsError(`cannot open the plant store ${path}: ${(error as Error).message}`)
  }
}

async function reach(given: string): Promise<string> {
  try {
    return await reachFile(given)
  } catch (error) {
    throw new PlantsError(
      `cannot make the folder of the plant store ${resolve(given)}: ${(error as Error).message}; ` +
        'make it, or set `plants.file` to a path that can be written',
    )
  }
}

async function lockOf(path: string) {
  const lockPath = `${path}.lock`
  const lock = await acquireLock(lockPath).catch((error: Error) => {
    throw new PlantsError(
      `cannot lock the plant store ${path}: ${error.message}; ` +
        'its folder must be writable and on a file system with hard links',
    )
  })
  if ('release' in lock) return lock
  throw new PlantsError(
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
    throw new PlantsError(`cannot read the plant store ${path}: ${(error as Error).message}`)
  }
  try {
    return read(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    const reason = error instanceof FormatError ? error.message : 'it is not UTF-8'
    throw new PlantsError(
      `the plant store ${path} is damaged or another kind of file: ${reason}; it was left as it is: ` +
        'put a sound copy in its place, or move it away to begin with an empty store',
    )
  }
}

/** The fault of a write as the store reports it. */
export function storeError(path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const { code, message } = error as NodeJS.ErrnoException
  const kind = code === 'ENOSPC' || code === 'EDQUOT' ? 'full' : 'failed'
  return new StoreError(kind, `cannot write the plant store ${path}: ${message}`, { cause: error })
}
