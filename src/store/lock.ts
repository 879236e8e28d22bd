import { lstat, lutimes, readdir, readlink, rename, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Holder, liveness, thisProcess } from './process.ts'
import { StoreError } from './store-error.ts'

/**
 * A lock file that does not outlive its process: a dangling symbolic link whose target names the holder. A short link
 * needs no block of its own, so even a full disk has room for it. `symlink` fails if the path exists, so only one
 * process gets the lock. Only the holder updates its time, and no holder's id is used twice.
 *
 * A process that finds a dead holder's lock takes a second lock, named after that holder's id, checks that the first
 * lock is still the dead holder's, and replaces it. The second lock lets only one process do this. It is taken
 * in the same way, so a process that dies meanwhile blocks no other.
 */
export interface Lock {
  path: string
  /** Whether this process still holds the lock, which another may have taken while this one was suspended. */
  held(): Promise<boolean>
  release(): Promise<void>
}

/** Milliseconds between two updates of the lock's time by its holder. */
const HEARTBEAT = 2_000

/**
 * Takes the lock at `path`.
 * @param wait resolves once a holder without a heartbeat counts as dead, if this machine cannot see its process
 * @returns the lock, or the holder if another process has it
 * @throws NodeJS.ErrnoException when the folder cannot be written
 */
export async function acquireLock(
  path: string,
  // Five missed heartbeats: the holder on another machine or in another container is dead.
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
    // The rival gets the lock, or finds it taken.
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

/** Creates the lock; false when the path exists. */
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

/** Time of the last heartbeat in milliseconds; undefined when the file is gone. */
async function touched(path: string): Promise<number | undefined> {
  return lstat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  )
}

/** Target of the link: under 60 bytes, so that ext4 keeps it in the inode. */
export function targetOf({ id, pid, start, realm }: Holder): string {
  return [id, pid, start, realm].join(':')
}

/** The holder; undefined when the file is gone. Any file but a link counts as a damaged lock, whose heartbeat decides. */
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
 * Removes the second locks of dead processes. They have no effect, because this process holds the lock and no id is
 * used twice.
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
 * Waits for the lock at `path` and runs `work` under it.
 * @param what name of the store in messages
 * @throws StoreError `locked` after 15 s; errors of `work`
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
    // 15 s, although a writer needs only milliseconds for each change.
    if (performance.now() - start > 15_000)
      throw new StoreError(
        'locked',
        `${what} is being written by process ${taken.pid} (lock file ${path}): try again`,
      )
    await sleep(5 + Math.random() * 20)
  }
}

/** A function that runs the work of its calls one after another, whether or not earlier work failed. */
export function serial(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const next = last.then(work, work)
    last = next.catch(() => {})
    return next
  }
}
