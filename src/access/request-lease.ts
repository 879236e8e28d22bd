import { randomUUID } from 'node:crypto'
import { type MemoryReservation, memory, SMALL } from './memory.ts'
import type { Quota } from './quota.ts'
import type { LimitName } from './refusals.ts'

/** An anonymous client, identified by its connection or request. */
export interface Peer {
  /** Unique key. */
  readonly key: string
  readonly gone: boolean
  /** Calls `listener` when it disconnects, or soon if it already has. A connection keeps the same one once. */
  onGone(listener: () => void): void
}

/** Bytes charged for a call in addition to its messages. */
const PER_CALL = 4096

/** Resources of one request until it ends: running calls and memory. */
export class RequestLease implements Peer {
  /** Memory of its body and its answer. */
  readonly reservation: MemoryReservation
  readonly quotaKey: string
  private calls = 0
  private users = 1
  private name: string | undefined
  private listeners: (() => void)[] = []

  /** @param quota of running calls; absent: not counted */
  constructor(
    private readonly prefix: string,
    quotaKey: string,
    private readonly quota?: Quota,
  ) {
    this.quotaKey = quotaKey
    this.reservation = memory.reserve(quotaKey)
  }

  /** Counts calls as running until the request ends; returns the exceeded limit, if any. */
  begin(calls: number): LimitName | undefined {
    const limit = this.quota?.take(this.prefix, this.quotaKey, calls)
    if (limit) return limit
    // The client disconnected meanwhile.
    if (this.gone) this.quota?.give(this.prefix, this.quotaKey, calls)
    else this.calls += calls
    return this.reservation.add(calls * PER_CALL) ? undefined : 'maxBuffered'
  }
  /**
   * Holds memory for the answer, in place of the body unless its calls are still running; false: there is none.
   * @param bytes of the answer
   */
  carries(bytes: number): boolean {
    const isHeld = this.users > 1 ? this.reservation.add(bytes) : this.reservation.replace(bytes)
    return isHeld || bytes <= SMALL
  }
  /** Stops counting its calls, which are endless streams limited by connections. */
  uncount(): void {
    this.quota?.give(this.prefix, this.quotaKey, this.calls)
    this.calls = 0
  }
  /** Keeps the lease beyond the answer; call the result to end it. */
  extend(): () => void {
    this.users++
    let ended = false
    return () => {
      if (!ended) this.end()
      ended = true
    }
  }
  /** Called when the answer is sent, or an extension ends. */
  end(): void {
    this.users--
    if (this.users !== 0) return
    this.uncount()
    this.reservation.close()
    for (const listener of this.listeners.splice(0)) listener()
  }

  get key(): string {
    this.name ??= randomUUID()
    return this.name
  }
  get gone(): boolean {
    return this.users <= 0
  }
  onGone(listener: () => void): void {
    if (this.gone) queueMicrotask(listener)
    else this.listeners.push(listener)
  }
}
