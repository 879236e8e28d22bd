import { randomBytes } from 'node:crypto'
import { type MemoryReservation, memory, parsedSize } from '../../access/memory.ts'
import type { Json } from '../../json/index.ts'
import { jsonIn } from '../../json/shaping/index.ts'
import { pause } from '../../text/index.ts'

/** Milliseconds for which a result is kept. */
const LIFE = 600_000
/** Maximum characters and results for each caller; the oldest are dropped first. */
const MAX_KEPT = 32 * 1024 * 1024
const MAX_RESULTS = 100

/** A text that the client got only in part. */
export interface KeptResult {
  text: string
  isJson: boolean
}

/** Owner of a kept result; other callers cannot read it. */
export interface ResultOwner {
  prefix: string
  /** Undefined for anonymous clients: possession of the handle suffices. */
  caller: string | undefined
  /** Quota key charged for the memory, which is freed if needed elsewhere. */
  quotaKey: string
}

interface Entry extends KeptResult {
  owner: ResultOwner
  until: number
}

/** Results of one quota key, oldest first. */
interface Shelf {
  entries: Map<string, Entry>
  reservation: MemoryReservation
  timer: NodeJS.Timeout | undefined
}

/** Texts that clients got in part, each for a limited time under an unguessable handle. */
export class KeptResults {
  readonly #shelves = new Map<string, Shelf>()
  /** Quota key of each handle. */
  readonly #quotaKeys = new Map<string, string>()

  /** @param life milliseconds for which each result is kept */
  constructor(private readonly life = LIFE) {}

  /** Keeps a text; undefined: no memory. */
  keep(result: KeptResult, owner: ResultOwner): string | undefined {
    const { quotaKey } = owner
    const size = result.text.length
    if (size > MAX_KEPT) return undefined
    const shelf = this.#shelves.get(quotaKey) ?? this.#newShelf(quotaKey)
    while (
      shelf.entries.size > 0 &&
      (shelf.reservation.size + size > MAX_KEPT || shelf.entries.size >= MAX_RESULTS)
    )
      this.#drop(quotaKey)
    if (shelf.reservation.add(size)) {
      const handle = randomBytes(24).toString('base64url')
      shelf.entries.set(handle, { ...result, owner, until: performance.now() + this.life })
      this.#shelves.set(quotaKey, shelf)
      this.#quotaKeys.set(handle, quotaKey)
      shelf.timer ??= setTimeout(() => this.#expire(quotaKey), this.life).unref()
      return handle
    }
    return undefined
  }

  /** Undefined: unknown handle, expired, or another caller's. */
  find(handle: string, { prefix, caller }: Pick<ResultOwner, 'prefix' | 'caller'>): KeptResult | undefined {
    const entry = this.#shelves.get(this.#quotaKeys.get(handle) ?? '')?.entries.get(handle)
    const isOwn = entry?.owner.prefix === prefix && entry.owner.caller === caller
    return isOwn && entry.until > performance.now() ? entry : undefined
  }

  close(): void {
    for (const quotaKey of [...this.#shelves.keys()]) while (this.#shelves.has(quotaKey)) this.#drop(quotaKey)
  }

  #newShelf(quotaKey: string): Shelf {
    return {
      entries: new Map(),
      reservation: memory.spare(quotaKey, () => this.#drop(quotaKey)),
      timer: undefined,
    }
  }

  #expire(quotaKey: string): void {
    const shelf = this.#shelves.get(quotaKey)
    if (!shelf) return
    shelf.timer = undefined
    const now = performance.now()
    for (const { until } of [...shelf.entries.values()]) if (until <= now) this.#drop(quotaKey)
    const [oldest] = shelf.entries.values()
    if (oldest) shelf.timer = setTimeout(() => this.#expire(quotaKey), oldest.until - now).unref()
  }

  /** Drops the oldest result. */
  #drop(quotaKey: string): void {
    const shelf = this.#shelves.get(quotaKey)
    const [oldest] = shelf?.entries ?? []
    if (!shelf || !oldest) return
    const [handle, { text }] = oldest
    shelf.entries.delete(handle)
    this.#quotaKeys.delete(handle)
    shelf.reservation.free(text.length)
    if (shelf.entries.size > 0) return
    clearTimeout(shelf.timer)
    // The shelf may be reused at once.
    shelf.timer = undefined
    this.#shelves.delete(quotaKey)
  }
}

/** The reading under way of each result. */
const readings = new WeakMap<KeptResult, Promise<unknown>>()

/**
 * Reads a result after its other readers, so that only one of them holds the parsed value. Undefined: no memory to
 * parse it.
 * @param quotaKey charged for the memory
 */
export function readInTurn<T>(
  result: KeptResult,
  quotaKey: string,
  read: (value: Json | undefined) => Promise<T>,
): Promise<T | undefined> {
  const reading = (readings.get(result) ?? Promise.resolve()).then(async () => {
    const reservation = memory.reserve(quotaKey)
    try {
      if (!reservation.add(parsedSize(result.text))) return undefined
      await pause()
      const value = jsonIn(result.text)
      await pause()
      return await read(value)
    } finally {
      reservation.close()
    }
  })
  readings.set(
    result,
    reading.catch(() => {}),
  )
  return reading
}
