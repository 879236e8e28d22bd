import { getHeapStatistics } from 'node:v8'
import { countRefusal } from './refusals.ts'

/**
 * Bytes of a message for which the last quarter of the memory is reserved, so that large ones never displace small
 * ones.
 */
export const SMALL = 64 * 1024
const SHARE_OF_LARGE = 0.75
/** Share of the memory that one caller, or anonymous address, may hold. */
const SHARE_OF_ONE = 0.5
/** Memory held by one quota key. */
interface Share {
  bytes: number
  /** Number of its reservations that are not empty. */
  reservations: number
}

/** Maximum of `Memory.limit`, in bytes. */
const MOST = 1024 * 1024 * 1024

/** A quarter of the heap, as data may exist as text, as bytes and parsed at the same time. */
function defaultLimit(): number {
  return Math.min(MOST, Math.floor(getHeapStatistics().heap_size_limit / 4))
}

/**
 * Counts the bytes that the process holds for clients and servers: bodies, answers, queued messages. Reserve before
 * holding more.
 */
class Memory {
  /** Bytes held now. */
  used = 0
  /** Maximum bytes held. */
  limit = defaultLimit()
  /** Maximum bytes in one queue. */
  queueLimit = 16 * 1024 * 1024

  /** Whether only small messages are accepted. */
  get pressed(): boolean {
    return this.used - this.spareBytes > this.limit * SHARE_OF_LARGE - SMALL
  }
  private readonly shares = new Map<string, Share>()
  /** Discardable reservations by quota key, least recently filled first. */
  private readonly spares = new Map<string, Set<SpareReservation>>()
  private spareBytes = 0

  /** A reservation for one request or answer. @param quotaKey absent: none */
  reserve(quotaKey?: string): MemoryReservation {
    return new MemoryReservation(this, Number.POSITIVE_INFINITY, quotaKey)
  }
  /** A reservation for one queue of messages: at most `queueLimit`, but any message if empty. */
  queue(quotaKey?: string): MemoryReservation {
    return new MemoryReservation(this, this.queueLimit, quotaKey)
  }
  /**
   * A reservation for data that may be discarded when memory is needed.
   * @param giveWay frees a part of it, until it is empty
   */
  spare(quotaKey: string, giveWay: () => void): MemoryReservation {
    return new SpareReservation(this, quotaKey, giveWay)
  }
  /** Whether `bytes` more fit for a reservation of then `size` bytes; discards spare data if necessary. */
  fits(bytes: number, size: number, quotaKey: string | undefined, share: Share | undefined): boolean {
    const most = size <= SMALL ? this.limit : this.limit * SHARE_OF_LARGE
    if (this.used - this.spareBytes + bytes > most) return false
    for (;;) {
      const held = share ?? (quotaKey === undefined ? undefined : this.shares.get(quotaKey))
      const shared = quotaKey === undefined ? 0 : (held?.bytes ?? 0) + bytes
      const isShareFull = shared > this.limit * SHARE_OF_ONE
      if (!isShareFull && this.used + bytes <= most) return true
      const own = quotaKey === undefined ? undefined : this.spares.get(quotaKey)
      const [spare] = own ?? (isShareFull ? [] : (this.spares.values().next().value ?? []))
      if (!spare) return false
      spare.giveWay()
    }
  }
  /** Adjusts the bytes of discardable data. */
  countSpare(reservation: SpareReservation, quotaKey: string, bytes: number): void {
    this.spareBytes += bytes
    const spares = this.spares.get(quotaKey) ?? new Set()
    if (bytes > 0 || reservation.size === 0) spares.delete(reservation)
    if (reservation.size > 0) this.spares.set(quotaKey, spares.add(reservation))
    else if (!spares.size) this.spares.delete(quotaKey)
  }
  /** The share of a quota key, when a reservation becomes non-empty. */
  enter(quotaKey: string): Share {
    const share = this.shares.get(quotaKey) ?? { bytes: 0, reservations: 0 }
    if (share.reservations++ === 0) this.shares.set(quotaKey, share)
    return share
  }
  /** Called when a reservation becomes empty. */
  leave(quotaKey: string, share: Share): void {
    if (--share.reservations === 0) this.shares.delete(quotaKey)
  }
}

/** Memory reserved for one purpose; free it afterwards. */
export class MemoryReservation {
  /** Bytes. */
  size = 0
  /** Share of its quota key, cached while not empty. */
  private share: Share | undefined

  constructor(
    private readonly memory: Memory,
    private readonly most: number,
    private readonly quotaKey?: string,
  ) {}

  private closed = false

  /** Reserves more bytes; false, without a change, if they do not fit. */
  add(bytes: number): boolean {
    if (this.closed) return false
    const size = this.size + bytes
    if (this.size > 0 && size > this.most) {
      countRefusal('maxQueued')
      return false
    }
    if (!this.memory.fits(bytes, size, this.quotaKey, this.share)) {
      countRefusal('maxBuffered')
      return false
    }
    // Making room may have discarded a part of this reservation.
    this.set(this.size + bytes)
    return true
  }
  /** Changes the reservation to `bytes`; false, without a change, if they do not fit. */
  replace(bytes: number): boolean {
    if (bytes > this.size) return this.add(bytes - this.size)
    this.set(bytes)
    return true
  }
  /** Sets the reservation for bytes that already exist. */
  set(bytes: number): void {
    const { memory, quotaKey } = this
    if (this.size === 0 && bytes > 0 && quotaKey !== undefined) this.share = memory.enter(quotaKey)
    const more = bytes - this.size
    memory.used += more
    if (this.share) this.share.bytes += more
    this.size = bytes
    if (bytes > 0 || !this.share || quotaKey === undefined) return
    memory.leave(quotaKey, this.share)
    this.share = undefined
  }
  /** Frees all, and refuses further bytes. */
  close(): void {
    this.free()
    this.closed = true
  }
  free(bytes = this.size): void {
    this.set(this.size - Math.min(bytes, this.size))
  }
}

class SpareReservation extends MemoryReservation {
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

/** The memory that this process accounts for. */
export const memory = new Memory()

/** Minimum bytes of a parsed JSON value and its slot. */
const PER_VALUE = 40
const [COMMA, BRACKET, BRACE] = [44, 91, 123]

/** Bytes of a JSON text when parsed: `[{},{},…]` takes twenty times its length. */
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
