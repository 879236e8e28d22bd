import type { StoreError } from '../store/store-error.ts'
import type { Logger } from '../telemetry/log.ts'
import type { PlantStore } from './store.ts'

type Operation = 'open' | 'create' | 'delete' | 'list'

/** Whether the server is unreachable, or refuses as during a failover: no operation works until it is back. */
export const isAway = ({ kind }: StoreError) => kind === 'unreachable' || kind === 'refused'

/** Logs an outage of a store in two lines, its beginning and its end, however many requests fail between them. */
export class Outage {
  #fault: { error: StoreError; operation: Operation } | undefined

  constructor(private readonly log: Pick<Logger, 'error' | 'info'>) {}

  /** Cause of the current outage; undefined while the store works. */
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

  /** Ends an outage. Only the failed operation ends that of a reachable store: a full disk can still be read. */
  worked(operation: Operation): void {
    const fault = this.#fault
    if (!fault || (!isAway(fault.error) && fault.operation !== operation)) return
    this.#fault = undefined
    this.log.info('plant store available again')
  }

  /** Wraps a store to watch its operations. */
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
