import { isObject, type JsonObject, parseVerbatim, stringify } from '../../json/index.ts'
import type { RecordedCall } from '../../mcp/index.ts'
import { type OwnRequest, refusal } from '../../server/console/own-client.ts'
import type { ConsoleSource } from '../../server/console/source.ts'
import type { Recorded } from '../../server/recorder.ts'
import { groupBy } from '../../text/index.ts'
import type { DeclaredList, ServerChildren } from '../../upstream/index.ts'
import {
  ANSWER_TIMEOUT,
  batched,
  type Channel,
  ChannelEnded,
  late,
  type ParentHandlers,
  type WorkerHandlers,
} from './channel.ts'

type ToWorker = Pick<Channel<WorkerHandlers>, 'ask' | 'note'>

/** Lines of standard error that are shown of a server in all workers. */
const MAX_LINES = 20

/** The calls of all workers, for the console. A worker that ends takes its own calls with it. */
export class WorkerCalls implements ConsoleSource {
  readonly #listeners = new Set<(call: RecordedCall) => void>()
  readonly #messages = new Map<number, OwnRequest['onMessage']>()
  #lastAsked = 0

  /** @param serving the workers that serve */
  constructor(private readonly serving: () => ToWorker[]) {}

  /** For a worker, once it serves. */
  join(worker: ToWorker): void {
    if (this.#listeners.size) worker.note('follow', true)
  }

  readonly handlers: Pick<ParentHandlers, 'finished' | 'askMessage'> = {
    finished: (calls) => {
      for (const call of calls) for (const listener of this.#listeners) listener(call)
    },
    askMessage: ({ id, text }) => this.#messages.get(id)?.(objectOf(text)),
  }

  async recorded(): Promise<Recorded[]> {
    return (await this.#each((worker) => worker.ask('recorded', undefined))).flat()
  }

  async recordedCall(id: string): Promise<RecordedCall | undefined> {
    const found = await this.#each((worker) => worker.ask('recordedCall', id))
    return found.find((one) => one !== undefined)
  }

  follow(listener: (call: RecordedCall) => void): () => void {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#tellFollowed(true)
    return () => {
      if (this.#listeners.delete(listener) && !this.#listeners.size) this.#tellFollowed(false)
    }
  }

  async ask({ onMessage, onRecorded, signal, ...request }: OwnRequest): Promise<JsonObject> {
    const [worker] = this.serving()
    if (!worker) return refusal('No worker serves', 503)
    const id = ++this.#lastAsked
    const cancel = () => worker.note('cancelAsk', id)
    if (onMessage) this.#messages.set(id, onMessage)
    try {
      const asked = worker.ask('ask', { id, request: stringify(request) })
      if (signal?.aborted) cancel()
      else signal?.addEventListener('abort', cancel, { once: true })
      const { answer, recorded } = await asked
      if (recorded) onRecorded?.(recorded)
      return objectOf(answer)
    } catch (error) {
      if (error instanceof ChannelEnded) return refusal('The worker of the call has ended', 502)
      throw error
    } finally {
      this.#messages.delete(id)
      signal?.removeEventListener('abort', cancel)
    }
  }

  async children(prefix: string): Promise<ServerChildren[]> {
    return joined((await this.#each((worker) => worker.ask('children', prefix))).flat())
  }

  /** Asks one worker: a server declares the same to all of them. */
  async declared(prefix: string): Promise<DeclaredList[]> {
    const [worker] = this.serving()
    return worker ? (parseVerbatim(await worker.ask('declared', prefix)) as unknown as DeclaredList[]) : []
  }

  #tellFollowed(isFollowed: boolean): void {
    for (const worker of this.serving()) worker.note('follow', isFollowed)
  }

  /** The answers of the workers that answer in time. */
  async #each<T>(ask: (worker: ToWorker) => Promise<T>): Promise<T[]> {
    const all = this.serving().map((worker) => late(ANSWER_TIMEOUT, ask(worker)))
    return (await Promise.allSettled(all)).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  }
}

function joined(all: readonly ServerChildren[]): ServerChildren[] {
  return [...groupBy(all, ({ name }) => name)].map(([name, own]) => ({
    name,
    running: own.flatMap(({ running }) => running),
    started: own.reduce((sum, { started }) => sum + started, 0),
    lost: own.reduce((sum, { lost }) => sum + lost, 0),
    stderr: own
      .flatMap(({ stderr }) => stderr)
      .sort((a, b) => b.ms - a.ms)
      .slice(-MAX_LINES),
  }))
}

function objectOf(text: string): JsonObject {
  const value = parseVerbatim(text)
  return isObject(value) ? value : {}
}

/** Answers the questions of the parent's console in a worker. */
export function callHandlers(
  source: ConsoleSource,
  parent: Pick<Channel<ParentHandlers>, 'note'>,
): Pick<
  WorkerHandlers,
  'recorded' | 'recordedCall' | 'follow' | 'ask' | 'cancelAsk' | 'children' | 'declared'
> {
  const running = new Map<number, AbortController>()
  const pass = batched((calls: RecordedCall[]) => parent.note('finished', calls))
  let stop = () => {}
  return {
    recorded: () => source.recorded(),
    recordedCall: (id) => source.recordedCall(id),
    follow(isFollowed) {
      stop()
      stop = isFollowed ? source.follow(pass) : () => {}
    },
    async ask({ id, request }) {
      const controller = new AbortController()
      running.set(id, controller)
      let recorded: RecordedCall | undefined
      try {
        const answer = await source.ask({
          ...(parseVerbatim(request) as unknown as OwnRequest),
          signal: controller.signal,
          onMessage: (message) => parent.note('askMessage', { id, text: stringify(message) }),
          onRecorded: (one) => {
            recorded = one
          },
        })
        return { answer: stringify(answer), recorded }
      } finally {
        running.delete(id)
      }
    },
    cancelAsk: (id) => running.get(id)?.abort(),
    children: (prefix) => source.children(prefix),
    declared: async (prefix) => stringify(await source.declared(prefix)),
  }
}
