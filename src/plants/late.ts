import { retryPause } from '../net/index.ts'
import { StoreError } from '../store/store-error.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { isAway, type Outage } from './outage.ts'
import type { PlantStore } from './store.ts'

/** Milliseconds that `open` waits for the first attempt. */
const FIRST_ATTEMPT = 5_000
/** Maximum milliseconds between two attempts. */
const LONGEST_PAUSE = 10_000

/**
 * A store whose server may be unreachable at the start. It connects in the background; operations reject with the
 * reason until then.
 */
export class LateStore implements PlantStore {
  #store: PlantStore | undefined
  #reason = new StoreError('unreachable', 'the plant store has not answered yet')
  #timer: NodeJS.Timeout | undefined
  /** Whether `open` has returned. */
  #late = false
  #closed = false

  private constructor(
    private readonly open: () => Promise<PlantStore>,
    private readonly outage: Outage,
  ) {}

  /** Opens the store. @throws errors of `open` within `FIRST_ATTEMPT`, unless the server is unreachable */
  static async open(open: () => Promise<PlantStore>, outage: Outage): Promise<PlantStore> {
    const late = new LateStore(open, outage)
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, FIRST_ATTEMPT)
    })
    try {
      await Promise.race([late.#attempt(0), patience])
    } finally {
      clearTimeout(timer)
    }
    late.#late = true
    if (!late.#store) outage.failed(late.#reason, 'open')
    return late
  }

  async #attempt(failures: number): Promise<void> {
    try {
      const store = await this.open()
      if (this.#closed) await store.close()
      this.#store = store
      this.outage.worked('open')
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      if (!this.#late && !isAway(error)) throw error
      this.#reason = error
      this.outage.failed(error, 'open')
      if (this.#closed) return
      this.#timer = setTimeout(
        () => {
          this.#attempt(failures + 1).catch(unexpected('opening the plant store'))
        },
        retryPause(failures, LONGEST_PAUSE),
      )
    }
  }

  get #opened(): PlantStore {
    if (!this.#store) throw this.#reason
    return this.#store
  }

  create: PlantStore['create'] = async (...args) => this.#opened.create(...args)
  delete: PlantStore['delete'] = async (...args) => this.#opened.delete(...args)
  page: PlantStore['page'] = async (...args) => this.#opened.page(...args)

  async *list(...args: Parameters<PlantStore['list']>) {
    yield* this.#opened.list(...args)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#store?.close()
  }
}
