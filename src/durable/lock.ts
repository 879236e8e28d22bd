import { constants } from 'node:fs'
import { link, lstat, lutimes, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Holder, liveness, thisProcess } from './process.ts'

/**
 * A lock file that outlives no process. It appears whole and only where none is (link), its id is never
 * used twice, and while its holder lives nobody else touches it. A dead holder's file is replaced only by
 * whoever holds the lock named after that dead holder's id, after looking again that it is still there;
 * so of two starters that both saw the same dead holder only one replaces it. That second lock is taken in
 * the same way, so a starter that dies half-way blocks nobody.
 */
export interface Lock {
  path: string
  /** Whether the lock is still this one's. Only a process that stood still for long can lose it. */
  held(): Promise<boolean>
  release(): Promise<void>
}

/** The holder touches its file this often. */
const HEARTBEAT = 2_000
/** A holder on another machine or in another container is dead when its file is not touched for so long. */
const PATIENCE = 10_000

/**
 * Takes the lock at `path`.
 * @param wait how long to watch for the heartbeat of a holder that cannot be seen from here
 * @returns the holder when it is taken
 * @throws NodeJS.ErrnoException when the folder cannot be written
 */
export async function acquireLock(
  path: string,
  wait: () => Promise<unknown> = () => sleep(PATIENCE),
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
  const draft = `${path}.${self.id}.new`
  await writeFile(draft, JSON.stringify(self), { flag: 'wx', mode: 0o600 })
  try {
    for (;;) {
      if (await linked(draft, path)) return undefined
      const holder = await read(path)
      if (holder === undefined) continue
      if (!(await isDead(path, holder, wait))) return holder
      const guard = `${path}.${holder.id}`
      const rival = await take(guard, self, wait)
      // The rival is about to hold the lock, or to find that it is too late and to let go.
      if (rival !== undefined) return rival
      try {
        if ((await read(path))?.id !== holder.id) continue
        await rename(draft, path)
        return undefined
      } finally {
        await rm(guard, { force: true })
      }
    }
  } finally {
    await rm(draft, { force: true })
  }
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
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

/** Bytes of a lock file at the most. */
const MAX_SIZE = 4096

/** Undefined when the file is gone. A link is not followed, and of a pipe or a device nothing is read: no process holds it. */
async function read(path: string): Promise<Holder | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await file.stat()
      const isLock = stats.isFile() && stats.size <= MAX_SIZE
      return parseHolder(isLock ? await file.readFile('utf8') : '')
    } finally {
      await file.close()
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') return parseHolder('')
    throw error
  }
}

/** Lock files are whole unless the machine lost power; such a one is judged by its heartbeat. */
function parseHolder(text: string): Holder {
  try {
    const { id, pid, start, realm } = JSON.parse(text)
    if (/^[0-9a-f-]{36}$/.test(id) && Number.isSafeInteger(pid) && pid > 0) return { id, pid, start, realm }
  } catch {}
  return { id: 'damaged', pid: 0, start: '', realm: '' }
}

/**
 * Removes what starters that died half-way have left. The lock is held, and no dead holder's id comes back,
 * so none of these files can decide anything any more.
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
