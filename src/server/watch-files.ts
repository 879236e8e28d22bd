import { readConfiguration } from '../checks/index.ts'
import { type Env, readSource } from '../config/index.ts'
import { hasErrors } from '../findings/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { isSame, type Scan, scan } from './folder-scan.ts'
import { folderWatchers } from './folder-watchers.ts'
import type { RequestReload, Watch } from './reloads.ts'

/** Milliseconds from an event to the first look: many come at once. */
const GATHER = 20
/** Milliseconds in which files must not have changed, so that nobody is in the middle of writing them. */
const QUIET = 100
/** The same where a file is missing or has errors: some editors remove and create it, or write it in pieces. */
const DOUBTFUL_QUIET = 1_000
/** Milliseconds after which a change is applied although there is no quiet. */
const PATIENCE = 5_000
/** Milliseconds between looks without an event: some are lost, and network file systems send none. */
const LOOK_INTERVAL = 2_000
/** The looks take no more of the time than one part in so many. */
const LOOK_SHARE = 50
/** With more changed files than these, they are not read to see whether they have errors: it would take long. */
const MOST_READ = 100

export interface WatchFilesOptions {
  env: Env
  log: Logger
}

/**
 * Detects changes of files and folders: files written, replaced, added and removed, sub-folders, links with another
 * target. It compares what is on disk with what was there before; events of the file system only say when to look.
 * Changes count from when this resolves.
 * @param paths as `serve` takes them
 */
export async function watchFiles(paths: readonly string[], { env, log }: WatchFilesOptions): Promise<Watch> {
  const files = paths.filter((path) => path !== '-')
  const watchers = folderWatchers(() => lookIn(GATHER), log)
  let request: RequestReload | undefined
  let timer: NodeJS.Timeout | undefined
  let dueAt = Number.POSITIVE_INFINITY
  let looking = false
  let closed = false
  /** What the last reload had, or one that is under way will have. */
  let known = await scan(files)
  let change: { now: Scan; since: number; first: number; quiet?: number } | undefined

  function lookIn(delay: number): void {
    if (closed || !request) return
    const at = performance.now() + delay
    // In the middle of a look that is remembered, as it may have missed what is new.
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
    let now = await scan(files)
    // A folder may have changed before it was watched.
    while (!closed && (await watchers.watch(now.folders))) now = await scan(files)
    const idle = Math.max(LOOK_INTERVAL, LOOK_SHARE * (performance.now() - start))
    const pause = await judge(now, start)
    looking = false
    const due = dueAt - performance.now()
    dueAt = Number.POSITIVE_INFINITY
    lookIn(Math.max(0, Math.min(due, pause ?? idle)))
  }

  /** Reloads when it is time to. @returns milliseconds until the next look; undefined: nothing is under way */
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
      Math.min(change!.since + quiet, change!.first + PATIENCE) - performance.now()
    if (rest(QUIET) > 0) return rest(QUIET)
    change.quiet ??= (await isDoubtful(known, now, env)) ? DOUBTFUL_QUIET : QUIET
    if (rest(change.quiet) > 0) return rest(change.quiet)
    known = now
    change = undefined
    // What failed is in the log, and the next change may work.
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
      watchers.close()
    },
  }
}

/** Whether files are gone, cannot be read or have errors, which a moment later may be otherwise. */
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
