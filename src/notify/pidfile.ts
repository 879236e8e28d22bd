import { randomUUID } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { type Holder, isAlive, liveness, thisProcess } from '../store/process.ts'
import type { ReloadAnswer } from './reload-answer.ts'

/** A pid file cannot be written or used. The message holds the reason and a fix. */
export class PidFileError extends Error {
  override name = 'PidFileError'
}

/**
 * The file that identifies the process of a pid file, because another process may get the same id after a crash.
 * A separate file, because `kill -HUP $(cat plantgw.pid)` must find only the id.
 */
const holderOf = (path: string) => `${path}.holder`

/**
 * Writes this process's id to `path`, and its identity to the file `holderOf(path)`. Replaces stale files.
 * @returns a function that removes the files if they still name this process
 * @throws PidFileError when a running gateway holds the file, or it holds other data, or it cannot be written
 */
export function takePidFile(path: string): () => void {
  // A link makes the whole file appear at once. The name is random so that other users of a shared folder cannot foresee it.
  const mine = `${path}.${randomUUID()}`
  const holder = `${mine}.holder`
  try {
    writeFileSync(mine, `${process.pid}\n`, { flag: 'wx', mode: 0o644 })
    for (let attempt = 0; !tryLink(mine, path); attempt++) {
      const pid = readPid(path)
      if (pid !== undefined && pid !== process.pid && isGateway(path, pid)) throw held(path, pid)
      if (attempt > 2) throw new Error('another process is using this PID file')
      if (holdsMore(path)) throw new PidFileError(`cannot write the pid file ${path}: ${HOLDS_MORE}`)
      // The holder goes first, so that a new id never stands beside an old holder.
      rmSync(holderOf(path), { force: true })
      rmSync(path, { force: true })
    }
    writeFileSync(holder, JSON.stringify({ ...thisProcess(), reload: null }), { flag: 'wx', mode: 0o644 })
    renameSync(holder, holderOf(path))
  } catch (error) {
    if (error instanceof PidFileError) throw error
    throw new PidFileError(`cannot write the pid file ${path}: ${reason(error as NodeJS.ErrnoException)}`)
  } finally {
    rmSync(mine, { force: true })
    rmSync(holder, { force: true })
  }
  return () => {
    if (readPid(path) !== process.pid) return
    rmSync(holderOf(path), { force: true })
    rmSync(path, { force: true })
  }
}

/** Result of the last reload by a signal. The process that sent the signal reads it. */
interface SignalledReload extends ReloadAnswer {
  /** When the signal arrived: milliseconds since 1970. */
  began: number
}

/** Writes the result of a reload beside the pid file, if it still names this process. */
export function writeReload(path: string, result: SignalledReload): void {
  if (readPid(path) !== process.pid) return
  const whole = JSON.stringify(result)
  const reload = whole.length > 8_000 ? { ...result, findings: [] } : result
  const temporary = `${path}.${randomUUID()}.holder`
  try {
    writeFileSync(temporary, JSON.stringify({ ...thisProcess(), reload }), { flag: 'wx', mode: 0o644 })
    renameSync(temporary, holderOf(path))
  } catch {
    // The log also holds the result.
    rmSync(temporary, { force: true })
  }
}

/** Result of the last reload by a signal; null before the first one; undefined if this gateway writes no results. */
export function readReload(path: string): SignalledReload | null | undefined {
  return readHolder(path)?.reload
}

/** Whether the process `pid` is the gateway that wrote the pid file, not a later process with the same id. */
export function isGateway(path: string, pid: number): boolean {
  const holder = readHolder(path)
  if (holder?.pid === pid) return liveness(holder) === 'alive'
  return isAlive(pid) && isServe(pid)
}

/** The process that wrote the pid file; undefined if `plantgw serve` did not write it. */
function readHolder(path: string): (Holder & { reload?: SignalledReload | null }) | undefined {
  try {
    const file = openSync(holderOf(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const { size } = fstatSync(file)
      const { id, pid, start, realm, reload } = size <= 16_384 ? JSON.parse(readFileSync(file, 'utf8')) : {}
      return Number.isSafeInteger(pid) && pid > 0 ? { id, pid, start, realm, reload } : undefined
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}

/** Whether the command line is that of `plantgw serve`; true where the system does not show it (proc_pid_cmdline(5)). */
function isServe(pid: number): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return words.includes('serve') && words.some((word) => /^plantgw(?:\.js)?$/.test(basename(word)))
  } catch {
    return true
  }
}

const REASONS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'a part of its path is not a folder',
  ENOSPC: 'the disk is full',
}

/** In words, because the message of the system would name a temporary file. */
function reason({ code, message }: NodeJS.ErrnoException): string {
  return (code && REASONS[code]) ?? message
}

function held(path: string, pid: number): PidFileError {
  return new PidFileError(
    `the pid file ${path} is held by the running process ${pid}: stop that process, or use another --pid`,
  )
}

const HOLDS_MORE = 'the file does not hold a process id: choose another file, or remove it'

/** Whether the file is no pid file: it is too large, or a pipe or device, which may never end. */
function holdsMore(path: string): boolean {
  const there = stats(path)
  // 64 bytes hold every id; a larger file was named by mistake.
  return there !== undefined && !(there.isFile() && there.size <= 64)
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** The id in a pid file; undefined when the file cannot be read or holds no id. */
export function readPid(path: string): number | undefined {
  if (holdsMore(path)) return undefined
  try {
    const pid = Number(readFileSync(path, 'utf8').trim())
    return Number.isInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

/** Why a pid file cannot be written at `path`; undefined when it can. Writes nothing. */
export function pidFault(path: string): string | undefined {
  const fault = `the pid file ${path} cannot be written`
  if (stats(path)?.isDirectory()) return `${fault}: it is a folder`
  if (holdsMore(path)) return `${fault}: ${HOLDS_MORE}`
  const folder = dirname(path)
  const there = stats(folder)
  if (!there) return `${fault}: the folder ${folder} does not exist`
  if (!there.isDirectory()) return `${fault}: ${folder} is not a folder`
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    return `${fault}: ${reason(error as NodeJS.ErrnoException)} (${folder})`
  }
}

function stats(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
    throw error
  }
}
