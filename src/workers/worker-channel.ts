import type { ChildProcess, SendHandle } from 'node:child_process'
import { unexpected } from '../telemetry/unexpected.ts'

/** What one end answers, by name; a note is a question without an answer. */
export type Handlers = Record<string, (value: never, handle?: SendHandle) => unknown>

/** The value that a handler takes, and what it answers. */
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
  /** A sentence. */
  fault?: string
}

/** Of a question whose answer will not come. */
export class ChannelEnded extends Error {
  constructor() {
    super('the process at the other end has ended')
  }
}

/** The end of the channel of a fork: a child process, or this process. */
export type End = ChildProcess | NodeJS.Process

/** Questions and notes between the process that starts workers and one of them. */
export class Channel<Theirs extends Handlers> {
  private readonly waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>()
  private asked = 0

  /** @param own answers what the other end asks */
  constructor(
    private readonly end: End,
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

  /** What is waited for does not come: the other end is gone. */
  close(): void {
    for (const { reject } of this.waiting.values()) reject(new ChannelEnded())
    this.waiting.clear()
  }

  /** @throws Error when the other end cannot answer; ChannelEnded when it has ended */
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

  /** No answer is awaited. */
  note<Name extends keyof Theirs & string>(
    name: Name,
    value: Value<Theirs[Name]>,
    handle?: SendHandle,
  ): void {
    if (this.end.connected) this.send({ ask: name, value }, handle)
  }

  private send(message: Asked | Answered, handle?: SendHandle): void {
    // Who has ended meanwhile is noticed by its disconnection; until then a handle may be given to another.
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
