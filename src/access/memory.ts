import { getHeapStatistics } from 'node:v8'
import { countRefusal } from './refusals.ts'

/** Bytes of a message for which the last quarter of the memory is kept, so that large ones never keep it out. */
export const SMALL = 64 * 1024
const SHARE_OF_LARGE = 0.75
/** What one caller, or one address without callers, may hold of it, so that others are still served. */
const SHARE_OF_ONE = 0.5
/** What one sharer holds, as long as it holds something. */
interface Share {
  bytes: number
  /** Holds that are not empty. */
  holds: number
}

/** Bytes: `maxBuffered` by default, at most. */
const MOST = 1024 * 1024 * 1024

/** A quarter of the heap: what waits is held as text, as bytes and sometimes parsed, for a moment all at once. */
export function defaultMaxBuffered(): number {
  return Math.min(MOST, Math.floor(getHeapStatistics().heap_size_limit / 4))
}

/**
 * Counts the bytes that the whole process holds for others: bodies that are read, answers that are on their way,
 * messages that wait. Who wants to hold more asks before.
 */
export class Memory {
  /** Bytes held now. */
  used = 0
  /** Bytes held at most: `maxBuffered`. */
  limit = defaultMaxBuffered()
  /** Bytes in one queue at most: `maxQueued`. */
  queueLimit = 16 * 1024 * 1024

  /** Whether only small messages are taken. */
  get pressed(): boolean {
    return this.used - this.spareBytes > this.limit * SHARE_OF_LARGE - SMALL
  }
  private readonly shares = new Map<string, Share>()
  /** What gives way, by sharer, the least recently filled first. */
  private readonly spares = new Map<string, Set<SpareHold>>()
  private spareBytes = 0

  /** For one request, or one answer. @param sharer whose share of the limits it is; absent: nobody's */
  hold(sharer?: string): Hold {
    return new Hold(this, Number.POSITIVE_INFINITY, sharer)
  }
  /** For one queue of messages: it takes any message when it is empty, and `maxQueued` in all. */
  queue(sharer?: string): Hold {
    return new Hold(this, this.queueLimit, sharer)
  }
  /**
   * For what is only worth keeping while nothing else needs the memory.
   * @param giveWay frees a part of it, until it holds nothing
   */
  spare(sharer: string, giveWay: () => void): Hold {
    return new SpareHold(this, sharer, giveWay)
  }
  /** Whether so many bytes more fit, for a purpose that holds `size` with them; what is spare gives way. */
  fits(bytes: number, size: number, sharer: string | undefined, share: Share | undefined): boolean {
    const most = size <= SMALL ? this.limit : this.limit * SHARE_OF_LARGE
    if (this.used - this.spareBytes + bytes > most) return false
    for (;;) {
      const held = share ?? (sharer === undefined ? undefined : this.shares.get(sharer))
      const shared = sharer === undefined ? 0 : (held?.bytes ?? 0) + bytes
      const isShareFull = shared > this.limit * SHARE_OF_ONE
      if (!isShareFull && this.used + bytes <= most) return true
      const own = sharer === undefined ? undefined : this.spares.get(sharer)
      const [spare] = own ?? (isShareFull ? [] : (this.spares.values().next().value ?? []))
      if (!spare) return false
      spare.giveWay()
    }
  }
  /** Counts so many bytes more, or less, of what gives way. */
  countSpare(hold: SpareHold, sharer: string, bytes: number): void {
    this.spareBytes += bytes
    const spares = this.spares.get(sharer) ?? new Set()
    if (bytes > 0 || hold.size === 0) spares.delete(hold)
    if (hold.size > 0) this.spares.set(sharer, spares.add(hold))
    else if (!spares.size) this.spares.delete(sharer)
  }
  /** The share of whom a hold begins to hold something for. */
  enter(sharer: string): Share {
    const share = this.shares.get(sharer) ?? { bytes: 0, holds: 0 }
    if (share.holds++ === 0) this.shares.set(sharer, share)
    return share
  }
  /** A hold holds nothing any more. */
  leave(sharer: string, share: Share): void {
    if (--share.holds === 0) this.shares.delete(sharer)
  }
}

/** A part of the memory that is held for one purpose; free it when that is over. */
export class Hold {
  /** Bytes. */
  size = 0
  /** Of its sharer; kept while it holds something, as looking it up would cost each call several times. */
  private share: Share | undefined

  constructor(
    private readonly memory: Memory,
    private readonly most: number,
    private readonly sharer?: string,
  ) {}

  private closed = false

  /** Holds so many bytes more; false, and nothing is held, when they do not fit. */
  add(bytes: number): boolean {
    if (this.closed) return false
    const size = this.size + bytes
    if (this.size > 0 && size > this.most) {
      countRefusal('maxQueued')
      return false
    }
    if (!this.memory.fits(bytes, size, this.sharer, this.share)) {
      countRefusal('maxBuffered')
      return false
    }
    // Of what gives way, a part may have gone.
    this.set(this.size + bytes)
    return true
  }
  /** Holds so many bytes in place of what was held; false, and nothing changes, when they do not fit. */
  replace(bytes: number): boolean {
    if (bytes > this.size) return this.add(bytes - this.size)
    this.set(bytes)
    return true
  }
  /** Counts so many bytes as held: they are there already. */
  set(bytes: number): void {
    const { memory, sharer } = this
    if (this.size === 0 && bytes > 0 && sharer !== undefined) this.share = memory.enter(sharer)
    const more = bytes - this.size
    memory.used += more
    if (this.share) this.share.bytes += more
    this.size = bytes
    if (bytes > 0 || !this.share || sharer === undefined) return
    memory.leave(sharer, this.share)
    this.share = undefined
  }
  /** Frees all, and holds nothing from now on. */
  close(): void {
    this.free()
    this.closed = true
  }
  free(bytes = this.size): void {
    this.set(this.size - Math.min(bytes, this.size))
  }
}

class SpareHold extends Hold {
  constructor(
    private readonly of: Memory,
    private readonly owner: string,
    readonly giveWay: () => void,
  ) {
    super(of, Number.POSITIVE_INFINITY, owner)
  }

  override set(bytes: number): void {
    const more = bytes - this.size
    super.set(bytes)
    this.of.countSpare(this, this.owner, more)
  }
}

/** Of this process. */
export const memory = new Memory()

/** What a value of JSON, with its place in an object or array, takes at the least once it is parsed. */
const PER_VALUE = 40
const [COMMA, BRACKET, BRACE] = [44, 91, 123]

/** Bytes that a JSON text takes when it is parsed: `[{},{},…]` takes twenty times its length. */
export function parsedSize(text: Uint8Array | string): number {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'latin1') : text
  if (bytes.length < 4096) return bytes.length
  let values = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === COMMA || byte === BRACKET || byte === BRACE) values++
  }
  return bytes.length + values * PER_VALUE
}
