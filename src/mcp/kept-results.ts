import { randomBytes } from 'node:crypto'
import { type Hold, memory, parsedSize } from '../access/memory.ts'
import type { Json } from '../json/index.ts'
import { jsonIn } from '../shaping/index.ts'
import { nextTurn } from '../text/index.ts'

/** Milliseconds for which a result is kept. */
const LIFE = 600_000
/** Characters that are kept for one caller, and results; the oldest give way. */
const MAX_KEPT = 32 * 1024 * 1024
const MAX_RESULTS = 100

/** A text of which a client got a part. */
export interface KeptResult {
  text: string
  isJson: boolean
}

/** To whom a result belongs: it is not there for anybody else. */
export interface ResultOwner {
  prefix: string
  /** Undefined where nobody is known: whoever has the handle may read the result. */
  caller: string | undefined
  /** Whose share of the memory it takes, as long as nothing else needs it. */
  sharer: string
}

interface Entry extends KeptResult {
  owner: ResultOwner
  until: number
}

/** The results of one sharer, the oldest first. */
interface Shelf {
  entries: Map<string, Entry>
  hold: Hold
  timer: NodeJS.Timeout | undefined
}

/** Texts of which clients got a part, each for a time and under a handle that nobody can guess. Of one gateway. */
export class KeptResults {
  readonly #shelves = new Map<string, Shelf>()
  /** The sharer of each handle. */
  readonly #sharers = new Map<string, string>()

  /** @param life milliseconds for which each is kept */
  constructor(private readonly life = LIFE) {}

  /** Keeps a text; undefined: there is no room. */
  keep(result: KeptResult, owner: ResultOwner): string | undefined {
    const { sharer } = owner
    const size = result.text.length
    if (size > MAX_KEPT) return undefined
    const shelf = this.#shelves.get(sharer) ?? this.#newShelf(sharer)
    while (shelf.entries.size > 0 && (shelf.hold.size + size > MAX_KEPT || shelf.entries.size >= MAX_RESULTS))
      this.#drop(sharer)
    if (shelf.hold.add(size)) {
      const handle = randomBytes(24).toString('base64url')
      shelf.entries.set(handle, { ...result, owner, until: performance.now() + this.life })
      this.#shelves.set(sharer, shelf)
      this.#sharers.set(handle, sharer)
      shelf.timer ??= setTimeout(() => this.#expire(sharer), this.life).unref()
      return handle
    }
    return undefined
  }

  /** Undefined: there is none, its time is over, or it is somebody else's. */
  find(handle: string, { prefix, caller }: Pick<ResultOwner, 'prefix' | 'caller'>): KeptResult | undefined {
    const entry = this.#shelves.get(this.#sharers.get(handle) ?? '')?.entries.get(handle)
    const isOwn = entry?.owner.prefix === prefix && entry.owner.caller === caller
    return isOwn && entry.until > performance.now() ? entry : undefined
  }

  close(): void {
    for (const sharer of [...this.#shelves.keys()]) while (this.#shelves.has(sharer)) this.#drop(sharer)
  }

  #newShelf(sharer: string): Shelf {
    return { entries: new Map(), hold: memory.spare(sharer, () => this.#drop(sharer)), timer: undefined }
  }

  #expire(sharer: string): void {
    const shelf = this.#shelves.get(sharer)
    if (!shelf) return
    shelf.timer = undefined
    const now = performance.now()
    for (const { until } of [...shelf.entries.values()]) if (until <= now) this.#drop(sharer)
    const [oldest] = shelf.entries.values()
    if (oldest) shelf.timer = setTimeout(() => this.#expire(sharer), oldest.until - now).unref()
  }

  /** Forgets the oldest. */
  #drop(sharer: string): void {
    const shelf = this.#shelves.get(sharer)
    const [oldest] = shelf?.entries ?? []
    if (!shelf || !oldest) return
    const [handle, { text }] = oldest
    shelf.entries.delete(handle)
    this.#sharers.delete(handle)
    shelf.hold.free(text.length)
    if (shelf.entries.size > 0) return
    clearTimeout(shelf.timer)
    // The shelf may be filled again at once.
    shelf.timer = undefined
    this.#shelves.delete(sharer)
  }
}

/** Milliseconds for which a result stays parsed after it was read, unless the memory is needed. */
const STAYS_PARSED = 1_000

/** A result that is parsed, as long as it is read. */
interface Reading {
  value: Json | undefined
  isParsed: boolean
  readers: number
  /** When the last of them is done. */
  last: Promise<unknown>
  /** Bytes that it takes. */
  readonly size: number
  hold: Hold
  timer: NodeJS.Timeout | undefined
}

const readings = new WeakMap<KeptResult, Reading>()

/**
 * Reads a result, one reader after another, for whom it is parsed once; undefined: there is no room for what is parsed.
 * @param sharer whose share of the memory that takes
 */
export async function readInTurn<T>(
  result: KeptResult,
  sharer: string,
  read: (value: Json | undefined) => Promise<T>,
): Promise<T | undefined> {
  const reading = readings.get(result) ?? newReading(result)
  if (reading.readers === 0) {
    reading.hold.close()
    clearTimeout(reading.timer)
    reading.hold = memory.hold(sharer)
    readings.set(result, reading)
    if (!reading.hold.add(reading.size)) {
      readings.delete(result)
      return undefined
    }
  }
  reading.readers++
  const own = reading.last.then(async () => {
    await nextTurn()
    if (!reading.isParsed) {
      reading.value = jsonIn(result.text)
      reading.isParsed = true
      await nextTurn()
    }
    return read(reading.value)
  })
  reading.last = own
    .catch(() => {})
    .then(() => {
      if (--reading.readers === 0) rest(result, sharer, reading)
    })
  return own
}

function newReading({ text }: KeptResult): Reading {
  const size = parsedSize(text)
  const last = Promise.resolve()
  return { value: undefined, isParsed: false, readers: 0, last, size, hold: memory.hold(), timer: undefined }
}

/** Keeps what is parsed for a moment, as long as nothing else needs the memory. */
function rest(result: KeptResult, sharer: string, reading: Reading): void {
  const drop = () => {
    clearTimeout(reading.timer)
    readings.delete(result)
    reading.hold.close()
  }
  reading.hold.close()
  reading.hold = memory.spare(sharer, drop)
  reading.timer = setTimeout(drop, STAYS_PARSED).unref()
  if (!reading.hold.add(reading.size)) drop()
}
