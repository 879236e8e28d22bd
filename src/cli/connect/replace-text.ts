import { constants, open } from 'node:fs/promises'
import { type Owner, reachFile, replaceFile } from '../../durable/file.ts'

/** Bytes of a client's file at most. */
const MAX_SIZE = 32 * 1024 * 1024

export interface FileBefore {
  text: string
  /** Permissions. */
  mode: number
  owner: Owner
}

/**
 * The text of a file; undefined where there is none.
 * @throws Error that names the file and says why it cannot be read
 */
export async function readText(path: string): Promise<FileBefore | undefined> {
  try {
    // A named pipe without a writer must not make the command wait.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const found = await handle.stat()
      const { size, mode, uid, gid } = found
      if (!found.isFile()) throw new Error('it is not a file')
      if (size > MAX_SIZE) throw new Error(`it is larger than ${MAX_SIZE / 1024 / 1024} MiB`)
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await handle.readFile())
      return { text, mode: mode & 0o777, owner: { uid, gid } }
    } finally {
      await handle.close()
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    const why = error instanceof TypeError ? 'it is not UTF-8' : message
    throw new Error(`cannot read ${path}: ${why}; nothing was written`)
  }
}

/**
 * Replaces a file in one step, and keeps it beside as it was, behind symbolic links. Its owner and permissions stay; a new
 * file only its user reads.
 * @param before what was read: a file that was changed since then is not written
 * @returns where the file is kept as it was; undefined: it is new
 * @throws Error that says why it cannot be written
 */
export async function replaceText(
  path: string,
  before: FileBefore | undefined,
  text: string,
): Promise<string | undefined> {
  try {
    const target = await reachFile(path)
    // A file is replaced by a new one, so its permissions alone would not stop the change.
    if (before && !(before.mode & 0o222)) throw new Error('it is read-only; nothing was written')
    const now = await readText(target)
    if (now?.text !== before?.text)
      throw new Error('another program changed it meanwhile; run the command again')
    const owner = before && ownerToKeep(before.owner)
    const write = (to: string, content: string) =>
      replaceFile(to, `${target}.plantgw-new`, [content], before?.mode ?? 0o600, owner)
    const backup = before && `${target}.plantgw-backup`
    if (backup) await write(backup, before.text)
    await write(target, text)
    return backup
  } catch (error) {
    throw new Error(`cannot write ${path}: ${(error as Error).message}`)
  }
}

/**
 * Only root may give a file to its owner; of others, the new file is their own as it was.
 * @throws Error for a file of another user
 */
function ownerToKeep(owner: Owner): Owner | undefined {
  const user = process.geteuid?.()
  if (user === 0) return owner
  if (user !== undefined && user !== owner.uid)
    throw new Error('it belongs to another user; nothing was written')
  return undefined
}
