import type { StoreError } from '../store/store-error.ts'
import type { Logger } from '../telemetry/log.ts'
import type { PlantStore } from './store.ts'

type Operation = 'open' | 'create' | 'delete' | 'list'

/** The server is away, or refuses for the time of a failover; nothing works until it is back. */
export const isAway = ({ kind }: StoreError) => kind === 'unreachable' || kind === 'refused'

/** Logs that a store stopped working, and that it works again: two lines, however many requests fail between them. */
export class Outage {
  #fault: { error: StoreError; operation: Operation } | undefined

  constructor(private readonly log: Pick<Logger, 'error' | 'info'>) {}

  /** Why the store does not work; undefined while it does. */
  get reason(): StoreError | undefined {
    return this.#fault?.error
  }

  failed(error: StoreError, operation: Operation): void {
    if (error.kind === 'closed') return
    const last = this.#fault?.error
    this.#fault = { error, operation }
    if (last && (last.kind === error.kind || (isAway(last) && isAway(error)))) return
    this.log.error({ operation, fault: error.kind, reason: error.message }, 'plant store unavailable')
  }

  /** A full disk is readable: what failed has to work again. */
  worked(operation: Operation): void {
    const fault = this.#fault
    if (!fault || (!isAway(fault.error) && fault.operation !== operation)) return
    this.#fault = undefined
    this.log.info('plant store available again')
  }

  /** The store, whose operations are watched. */
  watch(store: PlantStore): PlantStore {
    const watched = async <T>(operation: Operation, work: Promise<T>): Promise<T> => {
      try {
        const result = await work
        this.worked(operation)
        return result
      } catch (error) {
        this.failed(error as StoreError, operation)
        throw error
      }
    }
    return {
      create: (...args) => watched('create', store.create(...args)),
      delete: (...args) => watched('delete', store.delete(...args)),
      page: (...args) => watched('list', store.page(...args)),
      list: (access) => {
        const pieces = store.list(access)[Symbol.asyncIterator]()
        return {
          [Symbol.asyncIterator]: () => ({
            next: () => watched('list', pieces.next()),
            return: () => pieces.return?.() ?? Promise.resolve({ done: true, value: undefined }),
          }),
        }
      },
      close: () => store.close(),
    }
  }
}
