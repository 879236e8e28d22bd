import { type Adapter, Low } from 'lowdb'
import { inTime, TimeOut } from '../store/in-time.ts'
import { StoreError } from '../store/store-error.ts'
import { pause } from '../text/index.ts'
import type { Snapshot, StoredPlant } from './plant-format.ts'
import { type Access, LIST_PIECE, type Plant, type PlantStore } from './store.ts'

/**
 * The file of a store. A change is durable once its promise resolves. Operations reject with a StoreError.
 * `erase` deletes plants when the disk has no space for another snapshot.
 */
export interface PlantAdapter extends Adapter<Snapshot> {
  erase(ids: readonly bigint[]): Promise<void>
}

/** `change` returns whether it changed the draft. `erases` is the id of the plant that it deletes, if any. */
interface Change {
  change(draft: Map<bigint, StoredPlant>): boolean
  erases?: bigint
}

interface Waiting extends Change {
  resolve(changed: boolean): void
  reject(error: unknown): void
}

/**
 * The plants of a file. Changes that arrive during a write are made together on a copy, and acknowledged after the
 * next write. A failed write drops the copy, so memory always equals the file. Deletions work on a full disk, too.
 */
class File {
  /** Contents of the file. */
  durable: Snapshot
  readonly #db: Low<Snapshot>
  #queue: Waiting[] = []
  #flushing: Promise<void> | undefined
  #closed = false

  constructor(
    private readonly adapter: PlantAdapter,
    initial: Snapshot,
  ) {
    this.durable = initial
    this.#db = new Low<Snapshot>(adapter, initial)
  }

  /** @returns whether it changed a plant, once the change is durable */
  async change(change: Change): Promise<boolean> {
    if (this.#closed) throw new StoreError('closed', 'the plant store is closed')
    const done = new Promise<boolean>((resolve, reject) => {
      this.#queue.push({ ...change, resolve, reject })
      this.#flushing ??= this.#flushAll()
    })
    // Maximum milliseconds of a change, because a network disk may never answer.
    return inTime(done, 20_000).catch((error) => {
      if (!(error instanceof TimeOut)) throw error
      throw new StoreError('unreachable', `the disk of the plant store: ${error.message}`)
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#flushing
  }

  async #flushAll(): Promise<void> {
    // The requests that have already arrived join the first write.
    await new Promise(setImmediate)
    while (this.#queue.length > 0) {
      const batch = this.#queue
      this.#queue = []
      await this.#flush(batch)
    }
    this.#flushing = undefined
  }

  async #flush(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#commit(batch, async (draft) => {
        this.#db.data = draft
        await this.#db.write()
      })
    } catch (error) {
      const isFull = error instanceof StoreError && error.kind === 'full'
      const deletions = isFull ? batch.filter(({ erases }) => erases !== undefined) : []
      for (const waiting of batch) if (!deletions.includes(waiting)) waiting.reject(error)
      await this.#erase(deletions, error)
    }
  }

  async #erase(deletions: readonly Waiting[], full: unknown): Promise<void> {
    try {
      await this.#commit(deletions, (_, changed) => this.adapter.erase(changed.map(({ erases }) => erases!)))
    } catch {
      for (const waiting of deletions) waiting.reject(full)
    }
    this.#db.data = this.durable
  }

  /** Makes changes on a copy. `keep` makes it durable if it differs. */
  async #commit(
    batch: readonly Waiting[],
    keep: (draft: Snapshot, changed: readonly Waiting[]) => Promise<void>,
  ): Promise<void> {
    const draft = await copyOf(this.durable)
    const answers = batch.map(({ change }) => change(draft))
    const changed = batch.filter((_, index) => answers[index])
    if (changed.length > 0) {
      await keep(draft, changed)
      this.durable = draft
    }
    for (const [index, waiting] of batch.entries()) waiting.resolve(answers[index]!)
  }
}

/** A plant store in one file, which memory holds completely. */
export function lowdbStore(adapter: PlantAdapter, initial: Snapshot): PlantStore {
  const file = new File(adapter, initial)
  // The next place is greater than every earlier one, so no place is reused.
  let place = [...initial.values()].at(-1)?.place ?? 0
  return {
    async create({ caller }, { id, ...plant }) {
      const change = (draft: Map<bigint, StoredPlant>) => {
        if (draft.has(id)) return false
        place = Math.max(place + 1, Date.now() * 1000)
        draft.set(id, { owner: caller, plant, place })
        return true
      }
      return (await file.change({ change })) ? 'created' : 'taken'
    },
    delete: (access, id) =>
      file.change({
        change(draft) {
          const stored = draft.get(id)
          return stored !== undefined && reaches(access, stored) && draft.delete(id)
        },
        erases: id,
      }),
    async *list(access) {
      let plants: Plant[] = []
      let looked = 0
      for (const stored of file.durable.values()) {
        if (++looked % LIST_PIECE === 0) await pause()
        if (!reaches(access, stored)) continue
        if (plants.push(stored.plant) < LIST_PIECE) continue
        yield plants
        plants = []
      }
      yield plants
    },
    async page(access, limit, after) {
      const plants: Plant[] = []
      let next: bigint | undefined
      let looked = 0
      for (const stored of file.durable.values()) {
        if (++looked % LIST_PIECE === 0) await pause()
        if (stored.place <= after || !reaches(access, stored)) continue
        if (plants.length === limit) return { plants, next }
        plants.push(stored.plant)
        next = BigInt(stored.place)
      }
      return { plants, next: undefined }
    },
    close: () => file.close(),
  }
}

async function copyOf(snapshot: Snapshot): Promise<Map<bigint, StoredPlant>> {
  const copy = new Map<bigint, StoredPlant>()
  for (const [id, stored] of snapshot) {
    copy.set(id, stored)
    if (copy.size % LIST_PIECE === 0) await pause()
  }
  return copy
}

function reaches({ caller, access }: Access, stored: StoredPlant): boolean {
  return access === 'all' || stored.owner === caller
}
