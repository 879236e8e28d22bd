import type { Stats } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { FSWatcher } from 'chokidar'
import { readConfiguration } from '../checks/index.ts'
import { type Env, filesOf, readSource } from '../config/index.ts'
import { type Finding, hasErrors } from '../findings/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import type { RequestReload, Watch } from './reloads.ts'

/** Milliseconds from an event to the first check, to combine several events. */
const GATHER = 20
/** Milliseconds for which files must be unchanged, so that none is still being written. */
const QUIET = 100
/** The same if a file is missing or has errors: some editors delete and recreate files, or write them in pieces. */
const DOUBTFUL_QUIET = 1_000
/** Milliseconds between checks without an event, as events can be lost and network file systems send none. */
const LOOK_INTERVAL = 2_000
/** Checks use at most this fraction of the time. */
const LOOK_SHARE = 50
/** Milliseconds before a failed reload is repeated. */
const AGAIN = 5_000
/** Beyond this number, changed files are not read to check them for errors, as that would take long. */
const MOST_READ = 100

interface WatchFilesOptions {
  env: Env
  log: Logger
}

/**
 * Detects changes of files and folders: files written, replaced, added and removed, sub-folders, links with another
 * target. It compares the disk with its former state; file system events only trigger the comparison. Changes count
 * from when this resolves.
 * @param paths as given to `serve`
 */
export async function watchFiles(paths: readonly string[], { env, log }: WatchFilesOptions): Promise<Watch> {
  const files = paths.filter((path) => path !== '-')
  let request: RequestReload | undefined
  let timer: NodeJS.Timeout | undefined
  let dueAt = Number.POSITIVE_INFINITY
  let looking = false
  let closed = false
  /** State of the last reload. */
  let known = await scan(files)
  const events = fileEvents(files, () => lookIn(GATHER), log)
  await events.watch()
  let change: { now: Scan; since: number; first: number; quiet?: number } | undefined

  function lookIn(delay: number): void {
    if (closed || !request) return
    const at = performance.now() + delay
    // Remembered during a check, which may have missed the change.
    if (at >= dueAt) return
    dueAt = at
    if (looking) return
    clearTimeout(timer)
    timer = setTimeout(() => look().catch(unexpected('watching files', resume)), delay)
  }

  function resume(): void {
    looking = false
    lookIn(LOOK_INTERVAL)
  }

  async function look(): Promise<void> {
    dueAt = Number.POSITIVE_INFINITY
    looking = true
    const start = performance.now()
    const now = await scan(files)
    // A link or a folder that was made anew has to be watched anew.
    if (!events.came() && !change && !isSame(now, known)) await events.watch()
    const idle = Math.max(LOOK_INTERVAL, LOOK_SHARE * (performance.now() - start))
    const pause = await judge(now, start)
    looking = false
    const due = dueAt - performance.now()
    dueAt = Number.POSITIVE_INFINITY
    lookIn(Math.max(0, Math.min(due, pause ?? idle)))
  }

  /** Reloads if it is time. @returns milliseconds until the next check; undefined: no change is pending */
  async function judge(now: Scan, at: number): Promise<number | undefined> {
    if (closed) return undefined
    if (isSame(now, known)) {
      change = undefined
      return undefined
    }
    if (!change || !isSame(now, change.now)) {
      change = { now, since: at, first: change?.first ?? at }
      return QUIET
    }
    const rest = (quiet: number) =>
      // Milliseconds after which a change is applied even if files keep changing.
      Math.min(change!.since + quiet, change!.first + 5_000) - performance.now()
    if (rest(QUIET) > 0) return rest(QUIET)
    change.quiet ??= (await isDoubtful(known, now, env)) ? DOUBTFUL_QUIET : QUIET
    if (rest(change.quiet) > 0) return rest(change.quiet)
    change = undefined
    // The failure is logged.
    if (!(await request?.('watch').catch(() => undefined))) return AGAIN
    known = now
    return undefined
  }

  return {
    start(given) {
      request = given
      lookIn(0)
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await events.close()
    },
  }
}

/** Whether files are missing, unreadable or faulty, which may be temporary. */
async function isDoubtful(before: Scan, now: Scan, env: Env): Promise<boolean> {
  if ([...before.stamps.keys()].some((file) => !now.stamps.has(file))) return true
  const changed = [...now.stamps].filter(([file, stamp]) => before.stamps.get(file) !== stamp)
  if (changed.length > MOST_READ) return true
  for (const [file] of changed) {
    const source = await readSource(file, [])
    if (!source || hasErrors(readConfiguration(source, env).findings)) return true
  }
  return false
}

/** State of the served paths on disk. */
interface Scan {
  /** By file: a stamp that changes when it is written or replaced. */
  stamps: ReadonlyMap<string, string>
  /** By path: why its files cannot be listed. */
  faults: ReadonlyMap<string, string>
}

/** Examines files and folders without reading them. Never throws. */
async function scan(paths: readonly string[]): Promise<Scan> {
  const stamps = new Map<string, string>()
  const faults = new Map<string, string>()
  for (const path of paths) {
    const findings: Finding[] = []
    for (const file of await filesOf(path, findings)) stamps.set(file, await stampOf(file))
    for (const { file, message } of findings) faults.set(file, message)
  }
  return { stamps, faults }
}

/** Whether the files are the same and unchanged. */
function isSame(a: Scan, b: Scan): boolean {
  return isSameMap(a.stamps, b.stamps) && isSameMap(a.faults, b.faults)
}

function isSameMap(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value)
}

async function stampOf(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true })
    return `${dev}-${ino}-${size}-${mtimeNs}-${ctimeNs}`
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}

const REMEDIES: Record<string, string> = {
  ENOSPC:
    'Raise the limit, for example `sysctl fs.inotify.max_user_watches=524288`, as other programs use it too',
  EMFILE: 'Raise the limit, for example `sysctl fs.inotify.max_user_instances=1024`, or `ulimit -n`',
}

/** File system events; some are lost, such as those of links above the paths, and of the targets of links in folders. */
function fileEvents(paths: readonly string[], onEvent: () => void, log: Logger) {
  let watcher: FSWatcher | undefined
  let closed = false
  let warned = false
  let came = false

  function note(): void {
    came = true
    onEvent()
  }

  function onError(error: unknown): void {
    const hint = REMEDIES[(error as NodeJS.ErrnoException).code ?? '']
    // An unreadable folder is reported by the reload.
    if (hint && !warned) log.warn({ err: error, hint }, 'file watching unavailable; polling instead')
    warned ||= hint !== undefined
    note()
  }

  return {
    /** Whether any came since the last time. */
    came(): boolean {
      const before = came
      came = false
      return before
    },
    /** Watches what is at the paths now. */
    async watch(): Promise<void> {
      const chokidar = await import('chokidar')
      await watcher?.close()
      const targets = await Promise.all(paths.map((path) => realpath(path).catch(() => path)))
      if (closed) return
      const given = new Set([...paths, ...targets].map((path) => resolve(path)))
      const ignored = (path: string, stats?: Stats) =>
        !given.has(resolve(path)) && isIgnored(basename(path), stats?.isFile() ?? false)
      // A link in a folder may lead to all of the disk.
      const options = { ignoreInitial: true, persistent: false, followSymlinks: false, ignored }
      watcher = chokidar
        .watch([...given], options)
        .on('all', note)
        .on('error', onError)
    },
    async close(): Promise<void> {
      closed = true
      await watcher?.close()
    },
  }
}

/** Temporary files of editors are; `..data` is the link that Kubernetes replaces. */
function isIgnored(name: string, isFile: boolean): boolean {
  if (name === 'node_modules' || (name.startsWith('.') && !name.startsWith('..'))) return true
  return isFile && !/\.(?:ya?ml|json)$/i.test(name)
}
