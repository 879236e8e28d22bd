import { type Adapter, Low } from 'lowdb'
import { StoreError } from '../durable/store-error.ts'
import { giveWay } from '../text/index.ts'
import type { Snapshot, StoredPlant } from './plant-format.ts'
import { type Access, LIST_PIECE, type Plant, type PlantStore } from './store.ts'

/** Changes the draft; false when there was nothing to change. */
type Change = (draft: Map<bigint, StoredPlant>) => boolean

interface Waiting {
  change: Change
  resolve(changed: boolean): void
  reject(error: unknown): void
}

/**
 * A plant store in one file, kept whole in memory. Changes that arrive while a write is under way are
 * made together on a copy and acknowledged by the next write; a write that fails drops the copy, so
 * memory never holds what the file does not.
 * @param adapter resolves its `write` once the snapshot is durable, and rejects with a StoreError
 */
export function lowdbStore(adapter: Adapter<Snapshot>, initial: Snapshot): PlantStore {
  const db = new Low<Snapshot>(adapter, initial)
  let durable = initial
  let queue: Waiting[] = []
  let flushing: Promise<void> | undefined
  let closed = false

  async function enqueue(change: Change): Promise<boolean> {
    if (closed) throw new StoreError('closed', 'the plant store is closed')
    return new Promise((resolve, reject) => {
      queue.push({ change, resolve, reject })
      flushing ??= flushAll()
    })
  }

  async function flushAll(): Promise<void> {
    // Lets the requests that are already here join the first write.
    await new Promise(setImmediate)
    while (queue.length > 0) {
      const batch = queue
      queue = []
      await flush(batch)
    }
    flushing = undefined
  }

  async function flush(batch: Waiting[]): Promise<void> {
    try {
      const draft = await copyOf(durable)
      const answers = batch.map(({ change }) => change(draft))
      if (answers.includes(true)) {
        db.data = draft
        await db.write()
        durable = draft
      }
      for (const [index, waiting] of batch.entries()) waiting.resolve(answers[index]!)
    } catch (error) {
      db.data = durable
      for (const waiting of batch) waiting.reject(error)
    }
  }

  return {
    async create({ caller }, { id, ...plant }) {
      const created = await enqueue((draft) => {
        if (draft.has(id)) return false
        draft.set(id, { owner: caller, plant })
        return true
      })
      return created ? 'created' : 'taken'
    },
    delete: (access, id) =>
      enqueue((draft) => {
        const stored = draft.get(id)
        return stored !== undefined && reaches(access, stored) && draft.delete(id)
      }),
    async *list(access) {
      let plants: Plant[] = []
      let looked = 0
      for (const stored of durable.values()) {
        if (++looked % LIST_PIECE === 0) await giveWay()
        if (!reaches(access, stored)) continue
        if (plants.push(stored.plant) < LIST_PIECE) continue
        yield plants
        plants = []
      }
      yield plants
    },
    async close() {
      closed = true
      await flushing
    },
  }
}

async function copyOf(snapshot: Snapshot): Promise<Map<bigint, StoredPlant>> {
  const copy = new Map<bigint, StoredPlant>()
  for (const [id, stored] of snapshot) {
    copy.set(id, stored)
    if (copy.size % LIST_PIECE === 0) await giveWay()
  }
  return copy
}

function reaches({ caller, access }: Access, stored: StoredPlant): boolean {
  return access === 'all' || stored.owner === caller
}
