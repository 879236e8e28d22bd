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

/** A pid file cannot be taken or used; the message says why and what to do. */
export class PidFileError extends Error {
  override name = 'PidFileError'
}

/**
 * The file beside a pid file that identifies its process: after a crash, another process may get the same id. It is a
 * file of its own, as `kill -HUP $(cat plantgw.pid)` must find nothing but the id.
 */
const holderOf = (path: string) => `${path}.holder`

/**
 * Writes this process's id to `path`, and which process that is to a file beside it; a stale file is taken over.
 * @returns a function that removes the files, if they are still ours
 * @throws PidFileError when a living process holds it, when it is a file of something else, or cannot be written
 */
export function takePidFile(path: string): () => void {
  // Linked into place whole, so that no reader gets half a file. In a shared folder others could foresee a plain name.
  const mine = `${path}.${randomUUID()}`
  const holder = `${mine}.holder`
  try {
    writeFileSync(mine, `${process.pid}\n`, { flag: 'wx', mode: 0o644 })
    for (let attempt = 0; !tryLink(mine, path); attempt++) {
      const pid = readPid(path)
      if (pid !== undefined && pid !== process.pid && isGateway(path, pid)) throw held(path, pid)
      if (attempt > 2) throw new Error('another process is using this PID file')
      if (holdsMore(path)) throw new PidFileError(`cannot write the pid file ${path}: ${HOLDS_MORE}`)
      // The holder first, so that a new id never stands beside the holder of an old one.
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

/** The result of the last reload that a signal caused, for the process that sent the signal. */
interface SignalledReload extends ReloadAnswer {
  /** When the signal arrived: milliseconds since 1970. */
  began: number
}

/** Writes the result of a reload beside the pid file, if that is still ours. */
export function writeReload(path: string, result: SignalledReload): void {
  if (readPid(path) !== process.pid) return
  const whole = JSON.stringify(result)
  const reload = whole.length > 8_000 ? { ...result, findings: [] } : result
  const temporary = `${path}.${randomUUID()}.holder`
  try {
    writeFileSync(temporary, JSON.stringify({ ...thisProcess(), reload }), { flag: 'wx', mode: 0o644 })
    renameSync(temporary, holderOf(path))
  } catch {
    // The log has the result too.
    rmSync(temporary, { force: true })
  }
}

/** The result of the last reload by a signal; null: there was none; undefined: this gateway writes none. */
export function readReload(path: string): SignalledReload | null | undefined {
  return readHolder(path)?.reload
}

/** Whether the process with the id in a pid file is the gateway that wrote it, and not another one that has the id now. */
export function isGateway(path: string, pid: number): boolean {
  const holder = readHolder(path)
  if (holder?.pid === pid) return liveness(holder) === 'alive'
  return isAlive(pid) && isServe(pid)
}

/** The owner of the pid file; undefined: it was not written by `plantgw serve`. */
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

/** By the command line, where the system shows it (proc_pid_cmdline(5)); elsewhere the pid file is believed. */
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

/** In words, as the message of the system would name a temporary file. */
function reason({ code, message }: NodeJS.ErrnoException): string {
  return (code && REASONS[code]) ?? message
}

function held(path: string, pid: number): PidFileError {
  return new PidFileError(
    `the pid file ${path} is held by the running process ${pid}: stop that process, or use another --pid`,
  )
}

const HOLDS_MORE = 'it does not hold a process id: choose another file, or remove it'

/** Whether it is no pid file: too large, or a pipe or device, whose reading might not end. */
function holdsMore(path: string): boolean {
  const there = stats(path)
  // Maximum bytes of a pid file; a larger file was named by mistake.
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

/** The id in a pid file; undefined when there is none to be read. */
export function readPid(path: string): number | undefined {
  if (holdsMore(path)) return undefined
  try {
    const pid = Number(readFileSync(path, 'utf8').trim())
    return Number.isInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

/** Why a pid file could not be written there; undefined when it could. Nothing is written. */
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
