import { getHeapStatistics } from 'node:v8'
import { countRefusal } from './refusals.ts'

/** Bytes of a message for which the last quarter of the memory is kept, so that large ones never keep it out. */
export const SMALL = 64 * 1024
const SHARE_OF_LARGE = 0.75
/** What one caller, or one address without callers, may hold of it, so that others are still served. */
const SHARE_OF_ONE = 0.5
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
    return this.used > this.limit * SHARE_OF_LARGE - SMALL
  }
  /** Bytes held for each sharer. */
  private readonly shares = new Map<string, number>()

  /** For one request, or one answer. @param sharer whose share of the limits it is; absent: nobody's */
  hold(sharer?: string): Hold {
    return new Hold(this, Number.POSITIVE_INFINITY, sharer)
  }
  /** For one queue of messages: it takes any message when it is empty, and `maxQueued` in all. */
  queue(sharer?: string): Hold {
    return new Hold(this, this.queueLimit, sharer)
  }
  /** Whether so many bytes more fit, for a purpose that holds `size` with them. */
  fits(bytes: number, size: number, sharer: string | undefined): boolean {
    if (this.used + bytes > (size <= SMALL ? this.limit : this.limit * SHARE_OF_LARGE)) return false
    return sharer === undefined || (this.shares.get(sharer) ?? 0) + bytes <= this.limit * SHARE_OF_ONE
  }
  /** Counts so many bytes more, or less. */
  count(bytes: number, sharer: string | undefined): void {
    this.used += bytes
    if (sharer === undefined || bytes === 0) return
    const share = (this.shares.get(sharer) ?? 0) + bytes
    if (share > 0) this.shares.set(sharer, share)
    else this.shares.delete(sharer)
  }
}

/** A part of the memory that is held for one purpose; free it when that is over. */
export class Hold {
  /** Bytes. */
  size = 0

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
    if (!this.memory.fits(bytes, size, this.sharer)) {
      countRefusal('maxBuffered')
      return false
    }
    this.set(size)
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
    this.memory.count(bytes - this.size, this.sharer)
    this.size = bytes
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

/** Of this process. */
export const memory = new Memory()

/** What a value of JSON, with its place in an object or array, takes at the least once it is parsed. */
const PER_VALUE = 40
const [COMMA, BRACKET, BRACE] = [44, 91, 123]

/** Bytes that a JSON text takes when it is parsed: `[{},{},…]` takes twenty times its length. */
export function parsedSize(bytes: Uint8Array): number {
  if (bytes.length < 4096) return bytes.length
  let values = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === COMMA || byte === BRACKET || byte === BRACE) values++
  }
  return bytes.length + values * PER_VALUE
}
