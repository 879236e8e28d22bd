import { type ConfigurationSource, fromStore } from '../build/source.ts'
import { retryPause } from '../net/index.ts'
import { faultHint } from '../store/fault-hint.ts'
import type { ConfigurationStore } from '../store/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import type { RequestReload, Watch } from './reloads.ts'

interface WatchStoreOptions {
  /** Milliseconds between checks of the store's revision; 0: never checked. */
  poll: number
  log: Logger
}

/** Also the configuration source, so that changes since the last reading count. */
interface StoreWatch extends Watch {
  source: ConfigurationSource
  /** Whether the last attempt to read the store succeeded. */
  isUp(): boolean
}

/**
 * Detects changes of a store by its revision, at once if the store's server notifies. While the store is unavailable,
 * the configurations stay in service; outage and recovery are logged once each.
 */
export function watchStore(store: ConfigurationStore, options: WatchStoreOptions): StoreWatch {
  return new PollingWatch(store, options)
}

class PollingWatch implements StoreWatch {
  readonly source: ConfigurationSource
  private reload: RequestReload | undefined
  private closed = false
  private lost = false
  private up = true
  /** The revision last read. */
  private read: string | undefined
  private looking = false
  /** Trigger that requires another check after the current one. */
  private again: string | undefined
  private timer: NodeJS.Timeout | undefined
  private failures = 0
  private notBefore = 0
  private listener: { close(): void } | undefined

  constructor(
    private readonly store: ConfigurationStore,
    private readonly options: WatchStoreOptions,
  ) {
    const readAll = async () => {
      const snapshot = await store.readAll().catch((error) => {
        this.up = false
        throw error
      })
      this.up = true
      // Later readings may be reloads of one configuration, which omit others.
      if (!this.reload) this.read = snapshot.revision
      return snapshot
    }
    this.source = fromStore({ ...store, readAll })
  }

  isUp(): boolean {
    return this.up && !this.lost
  }

  start(request: RequestReload): void {
    if (this.options.poll === 0) return
    this.reload = request
    this.listener = this.store.listen?.(() => this.begin('notify'))
    this.begin('poll')
  }

  async close(): Promise<void> {
    this.closed = true
    clearTimeout(this.timer)
    this.listener?.close()
  }

  private begin(trigger: string): void {
    this.look(trigger).catch(unexpected('watching the store'))
  }

  private async look(trigger: string): Promise<void> {
    if (this.looking) this.again ??= trigger
    if (this.closed || this.looking) return
    this.looking = true
    clearTimeout(this.timer)
    const pause = await this.ask(trigger)
    this.looking = false
    if (this.closed) return
    const { again } = this
    this.again = undefined
    const next = again ?? (pause === undefined ? 'poll' : trigger)
    const wait = again === undefined ? (pause ?? this.options.poll) : 0
    this.timer = setTimeout(() => this.begin(next), wait)
  }

  /** @returns milliseconds until the next attempt, whatever `poll` is; undefined: success */
  private async ask(trigger: string): Promise<number | undefined> {
    let revision: string
    try {
      revision = await this.store.revision()
    } catch (error) {
      this.report(true, error as Error)
      return Math.min(this.options.poll, this.pause())
    }
    this.report(false)
    if (this.closed) return undefined
    if (revision !== this.read) {
      const early = this.notBefore - performance.now()
      if (early > 0) return early
      const done = await this.reload?.(trigger).catch(() => undefined)
      if (!done || done.findings.some(({ code }) => code === 'unreadable-store')) {
        const pause = this.pause()
        this.notBefore = performance.now() + pause
        return pause
      }
      this.read = revision
    }
    this.failures = 0
    return undefined
  }

  private pause(): number {
    return retryPause(this.failures++)
  }

  private report(lost: boolean, error?: Error): void {
    if (this.closed || lost === this.lost) return
    this.lost = lost
    this.up = !lost
    const why = error && { reason: error.message, hint: faultHint(error) }
    const line = { store: this.store.label, ...why }
    if (lost) this.options.log.error(line, 'store unavailable; serving the last snapshot and retrying')
    else this.options.log.info(line, 'store available again')
  }
}
