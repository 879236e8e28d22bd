import { mkdir, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Lock } from './lock.ts'
import { StoreError, writeError } from './store-error.ts'

export interface Owner {
  uid: number
  gid: number
}

/**
 * Gives a file a new content in one step: written beside it, fsynced, renamed, folder fsynced. Readers see the old
 * content or the new one, and once this resolves the new one survives a crash of the machine.
 * @param temporary in the same folder; an existing file is replaced
 * @param owner default: the user of this process
 * @throws NodeJS.ErrnoException; the file is as it was, unless only the folder's fsync failed
 */
export async function replaceFile(
  path: string,
  temporary: string,
  pieces: Iterable<string>,
  mode = 0o600,
  owner?: Owner,
): Promise<void> {
  try {
    await writeNew(temporary, pieces, mode, owner)
    await rename(temporary, path)
  } catch (error) {
    // A leftover would only take space, which may be short.
    await rm(temporary, { force: true }).catch(() => {})
    throw error
  }
  await syncFolder(dirname(path))
}

async function writeNew(
  path: string,
  pieces: Iterable<string>,
  mode: number,
  owner: Owner | undefined,
): Promise<void> {
  await rm(path, { force: true })
  const file = await open(path, 'wx', mode)
  try {
    if (owner) await file.chown(owner.uid, owner.gid)
    // The umask may have removed some of its bits.
    await file.chmod(mode)
    for (const piece of pieces) await file.writeFile(piece)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Whether there is something at a path that this process can see. */
export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** Makes the names in a folder durable, after files there were made, renamed or removed. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/**
 * The path behind symbolic links, so that a rename replaces the file and not a link to it; the file need not exist, as on
 * a volume that is still empty. Makes its folder.
 * @throws NodeJS.ErrnoException
 */
export async function reachFile(given: string): Promise<string> {
  let path = resolve(given)
  // Symbolic links in a row, as Linux follows them (path_resolution(7)).
  for (let links = 0; links < 40; links++) {
    await mkdir(dirname(path), { recursive: true })
    path = join(await realpath(dirname(path)), basename(path))
    const target = await readlink(path).catch(() => undefined)
    if (target === undefined) return path
    path = resolve(dirname(path), target)
  }
  throw Object.assign(new Error(`ELOOP: too many symbolic links: ${given}`), { code: 'ELOOP' })
}

/**
 * Replaces the file of a store, whose lock this process took.
 * @throws StoreError
 */
export async function writeStore(path: string, lock: Lock, pieces: Iterable<string>): Promise<void> {
  try {
    if (!(await lock.held())) throw new StoreError('locked', `another process took over ${path}`)
    await replaceFile(path, `${path}.tmp`, pieces)
  } catch (error) {
    throw writeError(path, error)
  }
}

/**
 * Contents of a store's file.
 * @param name of the store, in the message
 * @param read throws an Error that describes the fault in the text
 * @throws StoreError `damaged`
 */
export function decodeStore<T>(name: string, bytes: Uint8Array, read: (text: string) => T): T {
  try {
    return read(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    const reason = error instanceof TypeError ? 'it is not UTF-8' : (error as Error).message
    throw new StoreError(
      'damaged',
      `${name} is damaged or another kind of file: ${reason}; it was not changed: ` +
        'restore a valid copy, or move it away to start with an empty store',
    )
  }
}
