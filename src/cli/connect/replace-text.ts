import { constants, open } from 'node:fs/promises'
import { type Owner, reachFile, replaceFile } from '../../durable/file.ts'

/** Maximum bytes of a client's file. */
const MAX_SIZE = 32 * 1024 * 1024

export interface FileBefore {
  text: string
  /** Permissions. */
  mode: number
  owner: Owner
}

/**
 * The text of a file; undefined if missing.
 * @throws Error with the file and the reason
 */
export async function readText(path: string): Promise<FileBefore | undefined> {
  try {
    // A named pipe without a writer must not block.
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
 * Replaces a file atomically, following symbolic links, and keeps a backup. Owner and permissions stay; only the user
 * can read a new file.
 * @param before the text read: a file changed since then is not written
 * @returns the backup; undefined: the file is new
 * @throws Error with the reason
 */
export async function replaceText(
  path: string,
  before: FileBefore | undefined,
  text: string,
): Promise<string | undefined> {
  try {
    const target = await reachFile(path)
    // Replacing a file ignores its own permissions, so they are checked.
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
 * Only root can keep another owner; other users own the new file.
 * @throws Error for a file of another user
 */
function ownerToKeep(owner: Owner): Owner | undefined {
  const user = process.geteuid?.()
  if (user === 0) return owner
  if (user !== undefined && user !== owner.uid)
    throw new Error('it belongs to another user; nothing was written')
  return undefined
}
