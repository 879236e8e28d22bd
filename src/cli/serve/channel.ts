import type { ChildProcess, SendHandle } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import type { Reload } from '../../build/types.ts'
import type { WorkerPlace } from '../../cluster/workers.ts'
import type { Env, Settings, Source } from '../../config/index.ts'
import type { RecordedCall } from '../../mcp/index.ts'
import type { Recorded } from '../../server/recorder.ts'
import type { WorkerStatus } from '../../server/workers.ts'
import type { Counted } from '../../telemetry/counted.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { within } from '../../text/index.ts'
import type { ListChange, ServerChildren } from '../../upstream/index.ts'
import type { DrainLimits } from './drain.ts'

/** The served configurations, without refused ones. */
export interface Served {
  generation: number
  env: Env
  /** By `id`. */
  sources: ReadonlyMap<string, Source>
}

/** The changes of a reload. */
export interface Change {
  generation: number
  /** Absent: it is the same. */
  env?: Env
  changed: ReadonlyMap<string, Source>
  removed: readonly string[]
}

/** The values that a worker needs to begin. */
export interface Beginning {
  /** From 1 on. */
  worker: number
  settings: Settings
  version: string
  /** Seal the handles that clients get. */
  sealSecrets: readonly string[]
  /** Signs the requests between workers. */
  secret: string
  /** Names the run of the gateway. */
  run: string
  served: Served
}

/** A request for a page that the parent has. */
export interface PageRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string | undefined>>
  rawHeaders: readonly string[]
  /** Such as `1.1`: proxies are recognised by it. */
  httpVersion: string | undefined
  remoteAddress: string | undefined
  body: Uint8Array | undefined
}

export interface Page {
  status: number
  headers: [name: string, value: string][]
  /** A number: the body comes in pieces, as `OpenBodies` gives them. */
  body: Uint8Array | number
}

/** A request of the console that a worker answers. */
export interface OwnAsked {
  id: number
  /** An `OwnRequest` as JSON. */
  request: string
}

export interface OwnAnswer {
  /** JSON. */
  answer: string
  recorded: RecordedCall | undefined
}

/** Questions of the parent to a worker. */
export interface WorkerHandlers {
  [name: string]: (value: never, handle?: SendHandle) => unknown
  /** @returns where the other workers reach it */
  begin(beginning: Beginning): Promise<string>
  /** The workers that serve, this one among them. */
  peers(workers: readonly WorkerPlace[]): void
  startServers(nothing: undefined): void
  ownAddress(address: AddressInfo): void
  /** Answers while its event loop runs. */
  beat(nothing: undefined): void
  /** Serves the change. @returns refused configurations and findings */
  reload(change: Change): Promise<Pick<Reload, 'refused' | 'findings'>>
  /** All workers serve the change: clients may learn of it. */
  announce(nothing: undefined): void
  connection(connection: { id: number; surplus: boolean }, handle?: SendHandle): void
  counted(nothing: undefined): Promise<Counted>
  status(nothing: undefined): WorkerStatus
  renewTls(nothing: undefined): void
  /** The finished calls of this worker. */
  recorded(nothing: undefined): Promise<readonly Recorded[]>
  recordedCall(id: string): Promise<RecordedCall | undefined>
  /** Whether the parent wants each finished call. */
  follow(isFollowed: boolean): void
  /** A request of the console, as JSON. */
  ask(asked: OwnAsked): Promise<OwnAnswer>
  /** The browser of such a request is gone. */
  cancelAsk(id: number): void
  children(prefix: string): Promise<readonly ServerChildren[]>
  /** @returns `DeclaredList`s as JSON */
  declared(prefix: string): Promise<string>
  /** A list of an MCP server changed in a session of another worker. */
  listChanged(change: ListChange): void
  /** Another worker has met the replica of this address. */
  met(address: string): void
  /** Resolves when the calls of its clients have ended. */
  drain(limits: DrainLimits): Promise<void>
  /** Closes everything held for clients of other workers. @returns its last counts */
  end(nothing: undefined): Promise<Counted>
}

/** Questions of a worker to the parent. */
export interface ParentHandlers {
  [name: string]: (value: never) => unknown
  /** The worker listens to the channel. */
  hello(nothing: undefined): void
  page(request: PageRequest): Promise<Page>
  /** The next piece of the body of a page; undefined: it has ended. */
  nextPiece(body: number): Promise<Uint8Array | undefined>
  /** The client of this body is gone. */
  leaveBody(body: number): void
  /** Calls that have finished, while the parent follows them. */
  finished(calls: readonly RecordedCall[]): void
  /** A message before the answer to `ask`, as JSON. */
  askMessage(message: { id: number; text: string }): void
  /** The worker has a connection, and has read nothing of it yet. */
  taken(connection: number): void
  /** Connections that have ended. */
  closed(connections: readonly number[]): void
  listChanged(change: ListChange): void
  /** Resolves once the other workers know the replica of this address. */
  met(address: string): Promise<void>
  /** Resolves when no more connections come. */
  closeListener(nothing: undefined): Promise<void>
}

type Handlers = Record<string, (value: never, handle?: SendHandle) => unknown>
type Value<H> = H extends (value: infer V, ...rest: never[]) => unknown ? V : never
type Answer<H> = H extends (...args: never[]) => infer R ? Awaited<R> : never

interface Asked {
  ask: string
  value: unknown
  /** Absent: no answer is awaited. */
  id?: number
}

interface Answered {
  id: number
  value?: unknown
  fault?: string
}

/** The other process has ended, so its answer will not come. */
export class ChannelEnded extends Error {
  constructor() {
    super('the process at the other end has ended')
  }
}

/** Questions and notes between the parent and one worker, over the channel of `fork`. */
export class Channel<Theirs extends Handlers> {
  private readonly waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>()
  private asked = 0

  /** @param own answers the other process */
  constructor(
    private readonly end: ChildProcess | NodeJS.Process,
    own: Handlers,
  ) {
    const ends = end as ChildProcess
    ends.on('message', (message, handle) => {
      const received = message as unknown as Asked | Answered
      if ('ask' in received) this.answer(own, received, handle).catch(unexpected('the channel of a worker'))
      else this.settle(received)
    })
    ends.once('disconnect', () => this.close())
  }

  /** Rejects everything that waits for an answer. */
  close(): void {
    for (const { reject } of this.waiting.values()) reject(new ChannelEnded())
    this.waiting.clear()
  }

  /** @throws Error when the other process cannot answer; ChannelEnded when it has ended */
  ask<Name extends keyof Theirs & string>(
    name: Name,
    value: Value<Theirs[Name]>,
  ): Promise<Answer<Theirs[Name]>> {
    const id = ++this.asked
    return new Promise((resolve, reject) => {
      if (!this.end.connected) return reject(new ChannelEnded())
      this.waiting.set(id, { resolve, reject })
      this.send({ ask: name, value, id })
    })
  }

  /** Awaits no answer. */
  note<Name extends keyof Theirs & string>(
    name: Name,
    value: Value<Theirs[Name]>,
    handle?: SendHandle,
  ): void {
    if (this.end.connected) this.send({ ask: name, value }, handle)
  }

  private send(message: Asked | Answered, handle?: SendHandle): void {
    // A process that has ended is noticed by its disconnection. The handle stays open, to be given to another worker.
    this.end.send?.(message, handle, { keepOpen: true }, () => {})
  }

  private async answer(own: Handlers, { ask, value, id }: Asked, handle: SendHandle): Promise<void> {
    const handler = own[ask] as ((value: unknown, handle?: SendHandle) => unknown) | undefined
    if (id === undefined) return void (await handler?.(value, handle))
    try {
      const answer = await handler?.(value, handle)
      if (this.end.connected) this.send({ id, value: answer })
    } catch (error) {
      if (this.end.connected) this.send({ id, fault: (error as Error).message })
    }
  }

  private settle({ id, value, fault }: Answered): void {
    const waiting = this.waiting.get(id)
    this.waiting.delete(id)
    if (fault !== undefined) waiting?.reject(new Error(fault))
    else waiting?.resolve(value as never)
  }
}

/** Milliseconds for an answer that needs no work. */
export const ANSWER_TIMEOUT = 5_000

export const LATE = new Error('no answer in time')

/** @throws LATE after `ms` milliseconds without an answer */
export function late<T>(ms: number, answer: Promise<T>): Promise<T> {
  return within(ms, answer, () => {
    throw LATE
  })
}

/** Passes on together what comes in one turn of the event loop. */
export function batched<T>(pass: (all: T[]) => void): (one: T) => void {
  let all: T[] = []
  return (one) => {
    all.push(one)
    if (all.length > 1) return
    setImmediate(() => {
      pass(all)
      all = []
    })
  }
}
