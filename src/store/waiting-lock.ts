import { setTimeout as delay } from 'node:timers/promises'
import { acquireLock, type Lock } from '../durable/lock.ts'
import { StoreError } from '../durable/store-error.ts'

/** Milliseconds to wait for another writer, which needs a few for each change. */
const LOCK_TIMEOUT = 15_000

/**
 * Does something while no other process does so under the same lock file; waits for its turn.
 * @param what names the store in messages
 * @throws StoreError `locked` after 15 s; what `work` throws
 */
export async function withLock<T>(path: string, what: string, work: (lock: Lock) => Promise<T>): Promise<T> {
  const lock = await waitForLock(path, what)
  try {
    return await work(lock)
  } finally {
    await lock.release()
  }
}

async function waitForLock(path: string, what: string): Promise<Lock> {
  const start = performance.now()
  for (;;) {
    const taken = await acquireLock(path).catch((error: Error) => {
      throw new StoreError('failed', `cannot lock ${what}: ${error.message}`, { cause: error })
    })
    if ('release' in taken) return taken
    if (performance.now() - start > LOCK_TIMEOUT)
      throw new StoreError(
        'locked',
        `${what} is being written by process ${taken.pid} (lock file ${path}): try again`,
      )
    await delay(5 + Math.random() * 20)
  }
}

/** One after the other, whatever became of those before. */
export function serial(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const next = last.then(work, work)
    last = next.catch(() => {})
    return next
  }
}
