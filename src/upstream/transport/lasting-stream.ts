import type { JsonObject } from '../../json/index.ts'
import {
  ACKNOWLEDGED,
  type CancelSignal,
  Fault,
  isObject,
  LIST_KINDS,
  type ListKind,
  listKinds,
  type Notification,
  ownNotification,
} from '../../mcp/index.ts'
import { LONGEST_PAUSE, retryPause, waitFor } from '../../net/index.ts'

/** Milliseconds after which a stream that ends counts as successful, and is reopened at once. */
const STEADY = 5_000

/** A change of an event stream, for log and metrics. */
export interface StreamChange {
  outcome: 'lost' | 'regained'
  /** Whether it is the first lost, or the last restored, stream of the server. */
  outage: boolean
  /** Why it was lost, as a sentence. */
  reason?: string
}

/** Counts the lost event streams of one server, so that an outage is logged once. */
export class StreamWatch {
  /** Whether the server sends stream headers only with the first event, so that waiting is useless. */
  opensLate = false
  #lost = 0

  constructor(private readonly onChange: (change: StreamChange) => void) {}

  lost(reason: string): void {
    this.onChange({ outcome: 'lost', outage: this.#lost++ === 0, reason })
  }

  regained(): void {
    this.onChange({ outcome: 'regained', outage: --this.#lost === 0 })
  }

  /** A lost stream is no longer needed. */
  dropped(): void {
    this.#lost--
  }
}

/**
 * A stream of server-initiated messages, reopened when its connection ends, as load balancers, servers and networks may
 * end it at any time (2025-11-25, Listening for Messages from the Server).
 */
export class LastingStream {
  /** Whether it was ever open; servers may lack it. */
  known = false
  #lost = false
  #failures = 0
  #openedAt = Number.NaN

  /** @param signal aborted when the stream is no longer needed */
  constructor(
    private readonly watch: StreamWatch,
    private readonly signal: CancelSignal,
  ) {
    signal.addEventListener('abort', () => this.drop())
  }

  /** Called when the stream is open. @returns whether it had been lost, so that messages may have been missed */
  opened(): boolean {
    const again = this.#lost
    if (again) this.watch.regained()
    this.known = true
    this.#lost = false
    this.#openedAt = performance.now()
    return again
  }

  /**
   * Called when the stream ended or could not be opened; resolves when it should be reopened.
   * @param least minimum milliseconds requested by the server
   * @returns false: it is no longer needed
   */
  async lost(reason: string, least = 0): Promise<boolean> {
    if (this.signal.aborted) return false
    if (!this.#lost) this.watch.lost(reason)
    this.#lost = true
    if (performance.now() - this.#openedAt >= STEADY) this.#failures = 0
    this.#openedAt = Number.NaN
    const own = retryPause(this.#failures++)
    await waitFor(Math.min(Math.max(own, least), LONGEST_PAUSE), this.signal)
    return !this.signal.aborted
  }

  get isOpen(): boolean {
    return this.known && !this.#lost
  }

  /** Ends the stream for good. */
  drop(): void {
    if (this.#lost) this.watch.dropped()
    this.#lost = false
  }
}

/** The lists whose changes a server with these capabilities announces. */
export function announcedLists(capabilities: unknown): ListKind[] {
  const can = isObject(capabilities) ? capabilities : {}
  return Object.values(LIST_KINDS).filter((kind) => {
    const list = can[kind]
    return isObject(list) && list.listChanged === true
  })
}

/** Announces possible changes of lists to a client that may have missed them. */
export function announce(kinds: Iterable<ListKind>, take: (message: Notification) => void): void {
  for (const kind of kinds) take(ownNotification(`notifications/${kind}/list_changed`))
}

/**
 * Keeps a `subscriptions/listen` of 2026-07-28 open.
 * @param listen subscribes; resolves when the subscription has ended
 * @param onOpen called when it is acknowledged; `again`: messages may have been missed
 * @param onLost called when an acknowledged subscription has ended
 * @returns when the server refuses it, or it is no longer needed
 */
export async function keepSubscribed(
  listen: (take: (raw: JsonObject) => void) => Promise<JsonObject | Fault | undefined>,
  {
    onOpen,
    onLost,
    onMessage,
  }: {
    onOpen(kinds: ReadonlySet<ListKind>, again: boolean, granted: JsonObject): void
    onLost?(): void
    onMessage(raw: JsonObject): void
  },
  watch: StreamWatch,
  signal: CancelSignal,
): Promise<void> {
  const stream = new LastingStream(watch, signal)
  let reason: string
  do {
    const answer = await listen((raw) => {
      if (raw.method !== ACKNOWLEDGED) return onMessage(raw)
      const { notifications } = isObject(raw.params) ? raw.params : {}
      const granted = isObject(notifications) ? notifications : {}
      onOpen(listKinds(granted), stream.opened(), granted)
    })
    const error = answer instanceof Fault ? answer : answer?.error
    const refused = !(answer instanceof Fault && (answer.status ?? 500) >= 500) && isObject(error)
    // A server without subscriptions cannot lose one.
    if (refused && !stream.known) return stream.drop()
    reason = isObject(error) ? String(error.message) : 'The subscription ended'
    if (stream.isOpen && !signal.aborted) onLost?.()
  } while (await stream.lost(reason))
}
