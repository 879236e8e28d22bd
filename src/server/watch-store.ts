import { type ConfigurationSource, fromStore } from '../build/source.ts'
import type { Reload } from '../build/types.ts'
import { retryPause } from '../net/index.ts'
import type { ConfigurationStore } from '../store/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import type { Watch } from './watch.ts'

/** Milliseconds until a store that cannot be reached or read is asked again, at the most. */
const LONGEST_PAUSE = 60_000

export interface WatchStoreOptions {
  /** Milliseconds between two looks at the store's revision; 0: none, the store is only read. */
  poll: number
  log: Logger
}

/**
 * Sees changes of a store by its revision, and at once where the store's server tells of them. While the store cannot
 * be reached what was read is served on; that is logged once, and once when it is back.
 * @returns also the source to make the gateway of: what changed since it was read counts
 */
export function watchStore(
  store: ConfigurationStore,
  { poll, log }: WatchStoreOptions,
): Watch & { source: ConfigurationSource } {
  let reload: ((trigger: string) => Promise<Reload>) | undefined
  let closed = false
  let lost = false
  let read: string | undefined
  let looking = false
  /** Why to look once more after the look that is under way. */
  let again: string | undefined
  let timer: NodeJS.Timeout | undefined
  let failures = 0
  let notBefore = 0
  let listener: { close(): Promise<void> } | undefined
  const source = fromStore({
    ...store,
    async readAll() {
      const snapshot = await store.readAll()
      // Later ones may be for reloads of one configuration, which leave out the others.
      if (!reload) read = snapshot.revision
      return snapshot
    },
  })

  function begin(trigger: string): void {
    look(trigger).catch(unexpected('watching the store'))
  }

  async function look(trigger: string): Promise<void> {
    if (looking) again ??= trigger
    if (closed || looking) return
    looking = true
    clearTimeout(timer)
    const pause = await ask(trigger)
    looking = false
    if (closed) return
    const next = again ?? (pause === undefined ? 'poll' : trigger)
    const wait = again === undefined ? (pause ?? poll) : 0
    again = undefined
    timer = setTimeout(begin, wait, next)
  }

  /** @returns milliseconds until what failed is tried again, however long `poll` is; undefined when nothing failed */
  async function ask(trigger: string): Promise<number | undefined> {
    let revision: string
    try {
      revision = await store.revision()
    } catch (error) {
      tell(true, error as Error)
      return Math.min(poll, retryPause(failures++, LONGEST_PAUSE))
    }
    tell(false)
    if (closed) return
    if (revision === read) {
      failures = 0
      return
    }
    const early = notBefore - performance.now()
    if (early > 0) return early
    const done = await reload?.(trigger).catch(() => undefined)
    if (!done || done.findings.some(({ code }) => code === 'unreadable-store')) {
      const pause = retryPause(failures++, LONGEST_PAUSE)
      notBefore = performance.now() + pause
      return pause
    }
    read = revision
    failures = 0
  }

  function tell(now: boolean, error?: Error): void {
    if (closed || now === lost) return
    lost = now
    const line = { store: store.label, ...(error && { reason: error.message }) }
    if (lost) log.error(line, 'store unavailable; serving the last snapshot and retrying')
    else log.info(line, 'store available again')
  }

  return {
    source,
    start(request) {
      if (poll === 0) return
      reload = request
      listener = store.listen?.(() => begin('notify'))
      begin('poll')
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await listener?.close()
    },
  }
}
