import { mkdir, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Lock } from './lock.ts'
import { StoreError, writeError } from './store-error.ts'

export interface Owner {
  uid: number
  gid: number
}

/**
 * Replaces a file in one step: writes a temporary file, fsyncs it, renames it, and fsyncs the folder. Readers see the
 * old content or the new one. The new one survives a crash of the machine once this resolves.
 * @param temporary path in the same folder; an existing file there is replaced
 * @param owner default: the user of this process
 * @throws NodeJS.ErrnoException; the file is unchanged, unless only the folder's fsync failed
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
    // A leftover file would only waste space, which may be short.
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
    // The umask may have removed bits of the mode.
    await file.chmod(mode)
    for (const piece of pieces) await file.writeFile(piece)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Whether this process can see a file or folder at the path. */
export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** Makes the names in a folder durable after files were created, renamed or removed. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/**
 * The path behind symbolic links, so that a rename replaces the file, not a link to it. Creates its folder. The file
 * itself may be missing.
 * @throws NodeJS.ErrnoException
 */
export async function reachFile(given: string): Promise<string> {
  let path = resolve(given)
  // Linux follows at most 40 symbolic links in a row (path_resolution(7)).
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
 * Replaces the file of a store.
 * @param lock of the store, which this process took
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
 * Decodes a store's file.
 * @param name of the store, for the message
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
      `${name} is damaged or another kind of file: ${reason}. The file was not changed: ` +
        'restore a valid copy, or move it away to start with an empty store',
    )
  }
}
