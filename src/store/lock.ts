import { lstat, lutimes, readdir, readlink, rename, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Holder, liveness, thisProcess } from './process.ts'
import { StoreError } from './store-error.ts'

/**
 * A lock file that does not outlive its process: a symbolic link to nowhere, whose target names the holder. File systems
 * keep a short link without a block of its own, so that a full disk has room for it, too. The link is made in one step and
 * only where none exists, only its holder touches it, and no holder's id is used twice.
 *
 * A process that finds the lock of a dead holder first takes a second lock, named after that holder's id, then looks
 * whether the first one is still the dead holder's, and replaces it. So only one of several processes does. The second
 * lock is taken in the same way, so that a process that dies meanwhile blocks no other.
 */
export interface Lock {
  path: string
  /** Whether this process still holds the lock: one that was suspended for long may have lost it. */
  held(): Promise<boolean>
  release(): Promise<void>
}

/** The holder touches its file this often. */
const HEARTBEAT = 2_000

/**
 * Takes the lock at `path`.
 * @param wait how long to watch for the heartbeat of a holder that cannot be seen from here
 * @returns the holder when it is taken
 * @throws NodeJS.ErrnoException when the folder cannot be written
 */
export async function acquireLock(
  path: string,
  // A holder on another machine or in another container is dead when its file is not touched for so long.
  wait: () => Promise<unknown> = () => sleep(10_000),
): Promise<Lock | Holder> {
  const self = thisProcess()
  const other = await take(path, self, wait)
  if (other !== undefined) return other
  await sweep(path)
  const heartbeat = setInterval(() => {
    const now = new Date()
    lutimes(path, now, now).catch(() => {})
  }, HEARTBEAT)
  heartbeat.unref()
  const held = async () => (await read(path))?.id === self.id
  return {
    path,
    held,
    async release() {
      clearInterval(heartbeat)
      if (await held()) await rm(path, { force: true })
    },
  }
}

async function take(path: string, self: Holder, wait: () => Promise<unknown>): Promise<Holder | undefined> {
  for (;;) {
    if (await made(path, self)) return undefined
    const holder = await read(path)
    if (holder === undefined) continue
    if (!(await isDead(path, holder, wait))) return holder
    const guard = `${path}.${holder.id}`
    const rival = await take(guard, self, wait)
    // The rival will hold the lock, or find it taken.
    if (rival !== undefined) return rival
    try {
      if ((await read(path))?.id !== holder.id) continue
      // The guard becomes the lock.
      await rename(guard, path)
      return undefined
    } finally {
      await rm(guard, { force: true })
    }
  }
}

/** False when the path is taken. */
async function made(path: string, holder: Holder): Promise<boolean> {
  try {
    await symlink(targetOf(holder), path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function isDead(path: string, holder: Holder, wait: () => Promise<unknown>): Promise<boolean> {
  const state = liveness(holder)
  if (state !== 'unknown') return state === 'dead'
  const before = await touched(path)
  await wait()
  return before === (await touched(path)) && (await read(path))?.id === holder.id
}

/** Undefined when the file is gone. */
async function touched(path: string): Promise<number | undefined> {
  return lstat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  )
}

/** Fewer than 60 bytes, which ext4 keeps in the inode. */
export function targetOf({ id, pid, start, realm }: Holder): string {
  return [id, pid, start, realm].join(':')
}

/** Undefined when the file is gone. Another kind of file counts as a damaged lock, which is judged by its heartbeat. */
async function read(path: string): Promise<Holder | undefined> {
  try {
    return parseHolder(await readlink(path))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'EINVAL') return parseHolder('')
    throw error
  }
}

function parseHolder(target: string): Holder {
  const found = /^([\w-]{16}):(\d{1,10}):(\d{0,20}):([\w-]{16})$/.exec(target)
  if (!found || Number(found[2]) === 0) return { id: 'damaged', pid: 0, start: '', realm: '' }
  const [, id, pid, start, realm] = found as unknown as [string, string, string, string, string]
  return { id, pid: Number(pid), start, realm }
}

/**
 * Removes the second locks of processes that died. They decide nothing any more, as this process holds the lock and ids
 * are never used again.
 */
async function sweep(path: string): Promise<void> {
  const prefix = `${basename(path)}.`
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(prefix)) continue
    const left = join(dirname(path), name)
    const holder = await read(left)
    if (holder !== undefined && liveness(holder) === 'dead') await rm(left, { force: true })
  }
}

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
    // Milliseconds to wait for another writer, which needs a few for each change.
    if (performance.now() - start > 15_000)
      throw new StoreError(
        'locked',
        `${what} is being written by process ${taken.pid} (lock file ${path}): try again`,
      )
    await sleep(5 + Math.random() * 20)
  }
}

/** Runs work one after another, also after one that failed. */
export function serial(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const next = last.then(work, work)
    last = next.catch(() => {})
    return next
  }
}
