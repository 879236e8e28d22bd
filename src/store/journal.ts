import { constants } from 'node:fs'
import { open, rm, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, normalize } from 'node:path'
import { exists, reachFile, replaceFile, syncFolder } from './file.ts'
import { withLock } from './lock.ts'
import { StoreError, writeError } from './store-error.ts'

/** Names of hidden files, which are never read as configurations. */
const JOURNAL = '.plantgw.journal'
const LOCK = '.plantgw.lock'

/** Files of a folder and their new texts; null removes the file. */
export interface FileChange {
  /** Relative to the folder. */
  file: string
  text: string | null
}

/** Takes the folder's lock, completes interrupted changes, then runs `work`. */
export async function inFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  return withLock(join(folder, LOCK), `the folder ${folder}`, async () => {
    await rollForward(folder)
    return work()
  })
}

/**
 * Makes all changes or none, even if the process is killed: a journal records them first, in one step, and the next
 * process that reads the folder completes them. Call it within `inFolder`.
 * @throws StoreError
 */
export async function changeFiles(folder: string, changes: readonly FileChange[]): Promise<void> {
  const path = join(folder, JOURNAL)
  try {
    // A change of one file needs no journal, because it is one step.
    if (changes.length > 1) await replaceFile(path, `${path}.tmp`, [JSON.stringify(changes)])
    await make(folder, changes)
    if (changes.length > 1) await forget(folder)
  } catch (error) {
    const { kind, message } = writeError(folder, error)
    const begun = await isUnsettled(folder)
    const rest = begun ? `; the changes are recorded in ${path}; the next command completes them` : ''
    throw new StoreError(kind, `${message}${rest}`, { cause: error })
  }
}

/** Whether changes are in progress or were interrupted. */
export async function isUnsettled(folder: string): Promise<boolean> {
  return exists(join(folder, JOURNAL))
}

/** Completes the changes of a killed process. Takes the lock only if such changes exist. @throws StoreError */
export async function settle(folder: string): Promise<void> {
  if (await isUnsettled(folder)) await inFolder(folder, async () => {})
}

/**
 * The text of a file of this user. Journals of other users in a shared folder, and links to files, are not executed.
 * @throws SyntaxError when the file belongs to another user, or is no regular file
 */
async function readOwn(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.uid !== (process.geteuid?.() ?? stats.uid)) throw new SyntaxError('not ours')
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

function isBelow(file: string): boolean {
  return !isAbsolute(file) && !normalize(file).startsWith('..')
}

async function rollForward(folder: string): Promise<void> {
  try {
    const changes: FileChange[] = JSON.parse(await readOwn(join(folder, JOURNAL)))
    if (changes.some(({ file }) => !isBelow(file))) throw new SyntaxError('a file outside of the folder')
    await make(folder, changes)
    await forget(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ELOOP')
      throw new StoreError('damaged', `${join(folder, JOURNAL)} is damaged: remove it, and apply again`)
    throw writeError(folder, error)
  }
}

async function make(folder: string, changes: readonly FileChange[]): Promise<void> {
  for (const { file, text } of changes) {
    const path = await reachFile(join(folder, file))
    if (text !== null)
      await replaceFile(path, join(dirname(path), '.plantgw.tmp'), [text], await modeOf(path))
    else {
      await rm(join(folder, file), { force: true })
      await syncFolder(dirname(join(folder, file)))
    }
  }
}

/** The mode of the file; the default mode if the file does not exist. */
async function modeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ mode }) => mode & 0o777,
    () => 0o666 & ~process.umask(),
  )
}

async function forget(folder: string): Promise<void> {
  await rm(join(folder, JOURNAL))
  await syncFolder(folder)
}
