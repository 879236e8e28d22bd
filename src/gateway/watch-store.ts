import type { ConfigurationStore } from '../store/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Reload } from './gateway.ts'
import { type ConfigurationSource, fromStore } from './source.ts'
import type { Watch } from './watch.ts'

/** Milliseconds until a store that tells its revision but cannot be read is read again, at the most. */
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
  let again = false
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

  async function look(trigger: string): Promise<void> {
    again ||= looking
    if (closed || looking) return
    looking = true
    clearTimeout(timer)
    await ask(trigger)
    looking = false
    if (closed) return
    timer = setTimeout(() => void look('poll'), again ? 0 : poll)
    again = false
  }

  async function ask(trigger: string): Promise<void> {
    let revision: string
    try {
      revision = await store.revision()
    } catch (error) {
      tell(true, error as Error)
      return
    }
    tell(false)
    if (closed || revision === read || performance.now() < notBefore) return
    const done = await reload?.(trigger).catch(() => undefined)
    const failed = !done || done.findings.some(({ code }) => code === 'unreadable-store')
    if (!failed) read = revision
    failures = failed ? failures + 1 : 0
    notBefore = failures && performance.now() + Math.min(LONGEST_PAUSE, poll * 2 ** failures)
  }

  function tell(now: boolean, error?: Error): void {
    if (closed || now === lost) return
    lost = now
    const line = { store: store.label, ...(error && { reason: error.message }) }
    if (lost) log.error(line, 'the store is lost: what was read is served on, and the store is asked again')
    else log.info(line, 'the store is back')
  }

  return {
    source,
    start(request) {
      if (poll === 0) return
      reload = request
      listener = store.listen?.(() => void look('notify'))
      void look('poll')
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await listener?.close()
    },
  }
}
