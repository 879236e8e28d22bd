import { readConfiguration } from '../checks/index.ts'
import { type Env, readSource } from '../config/index.ts'
import { hasErrors } from '../findings/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { fileEvents } from './file-events.ts'
import { isSame, type Scan, scan } from './folder-scan.ts'
import type { RequestReload, Watch } from './reloads.ts'

/** Milliseconds from an event to the first check, to combine several events. */
const GATHER = 20
/** Milliseconds for which files must be unchanged, so that none is still being written. */
const QUIET = 100
/** The same if a file is missing or has errors: some editors delete and recreate files, or write them in pieces. */
const DOUBTFUL_QUIET = 1_000
/** Milliseconds after which a change is applied even if files keep changing. */
const MAX_DELAY = 5_000
/** Milliseconds between checks without an event, as events can be lost and network file systems send none. */
const LOOK_INTERVAL = 2_000
/** Checks use at most this fraction of the time. */
const LOOK_SHARE = 50
/** Beyond this number, changed files are not read to check them for errors, as that would take long. */
const MOST_READ = 100

export interface WatchFilesOptions {
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
  /** State of the last reload, or of the running one. */
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
      Math.min(change!.since + quiet, change!.first + MAX_DELAY) - performance.now()
    if (rest(QUIET) > 0) return rest(QUIET)
    change.quiet ??= (await isDoubtful(known, now, env)) ? DOUBTFUL_QUIET : QUIET
    if (rest(change.quiet) > 0) return rest(change.quiet)
    known = now
    change = undefined
    // The failure is logged, and the next change may succeed.
    await request?.('watch').catch(() => {})
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
