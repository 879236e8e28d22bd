import type { HttpResponse } from '../../access/http-response.ts'
import { type MemoryReservation, memory } from '../../access/memory.ts'
import { limitReached } from '../../access/refusals.ts'
import type { RequestContext } from '../context.ts'
import { type AnswerForm, event, eventStream, json, takesEvents } from '../http.ts'
import { errorText, INTERNAL_ERROR } from '../protocol.ts'
import type { EventLog, ResumableStream } from './resumption.ts'

/** Sent chunks kept in the queue's array before it is copied. */
const MAX_HEAD = 1_000

/**
 * A stream of server-sent events to one client. It is closed if unread data exceeds `maxQueued`, or memory runs out.
 */
export class EventStream {
  /** Memory of queued data and of the chunk last passed on, which counts until the next pull. */
  private readonly reservation: MemoryReservation
  private queue: Uint8Array[] = []
  /** Index of the next chunk in `queue`: shifting a long array would copy it each time. */
  private head = 0
  private inFlight = 0
  private isWanted = false
  private open = true
  private controller!: ReadableStreamDefaultController<Uint8Array>
  /** The response body. */
  readonly body: ReadableStream<Uint8Array>

  /** @param onClose called once, whichever side closes the stream */
  constructor(
    { lease }: Pick<RequestContext, 'lease'>,
    private readonly onClose: () => void,
  ) {
    this.reservation = memory.queue(lease.quotaKey)
    lease.onGone(() => this.reservation.free())
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller
        },
        pull: () => this.next(),
        cancel: () => this.cancel(),
      },
      // The queue is bounded here, so the stream buffers nothing itself.
      { highWaterMark: 0 },
    )
  }

  /** Sends one JSON-RPC message. */
  send(text: string): void {
    this.write(event(text))
  }

  /** Sends text that is already formatted as server-sent events. */
  write(text: string): void {
    if (!this.open) return
    const chunk = Buffer.from(text)
    if (!this.reservation.add(chunk.byteLength)) {
      this.close()
      return
    }
    this.queue.push(chunk)
    this.flush()
  }

  get isConnected(): boolean {
    return this.open
  }

  close(): void {
    if (!this.open) return
    this.gone()
    if (!this.queue.length) this.controller.close()
  }

  end(): void {
    this.close()
  }

  private gone(): void {
    if (!this.open) return
    this.open = false
    this.onClose()
  }

  /** The previous chunk was sent, and the consumer requests another. */
  private next(): void {
    this.reservation.free(this.inFlight)
    this.inFlight = 0
    this.isWanted = true
    this.flush()
  }

  private cancel(): void {
    this.queue = []
    this.reservation.free()
    this.gone()
  }

  private flush(): void {
    const chunk = this.queue[this.head]
    if (!this.isWanted || !chunk) return
    if (++this.head === this.queue.length || this.head === MAX_HEAD) {
      this.queue = this.queue.slice(this.head)
      this.head = 0
    }
    this.isWanted = false
    this.inFlight = chunk.byteLength
    this.controller.enqueue(chunk)
    if (!this.open && !this.queue.length) this.controller.close()
  }
}

/** A channel for messages to a client. */
export interface ClientStream {
  send(text: string): void
  close(): void
}

/** Receives the answer to a request, and messages before it. */
export interface Reply {
  /** Whether a message before the answer reaches the client. */
  canStream(): boolean
  /** Whether a message before the answer is kept for a reconnecting client. */
  canResume(): boolean
  /** Sends a message before the answer. */
  message(text: string): void
  /** Sends the answer and ends; `status` and `headers` apply only if nothing was sent before. */
  answer(text: string, status?: number, headers?: Record<string, string>): void
  /** Ends without an answer. */
  end(): void
  /** Sends a keep-alive comment. */
  write(comment: string): void
  /** Called for slow answers, so that the client can resume. */
  sendEventId(): void
}

/** The reply to a stateless request. */
export interface StatelessReply<Answer> extends Reply {
  /** Calls `onGone` once if the client disconnects or cancels before the answer. */
  watch(onGone: () => void): void
  /** The remaining answer when the request has ended. */
  readonly response: Promise<Answer>
}

/** Provides the event log of a session. */
export interface Resumable {
  readonly log: EventLog
  /** Whether its client accepts an event without data that only carries an id (2025-11-25). */
  readonly takesEmptyEvents: boolean
}

/**
 * The answer to one POST: JSON if the answer comes first, or an event stream from the first other message on
 * (Streamable HTTP, Sending Messages).
 */
export class PostReply implements StatelessReply<HttpResponse> {
  readonly response: Promise<HttpResponse>
  private settle!: (response: HttpResponse) => void
  private stream: EventStream | ResumableStream | undefined
  private over = false
  private onGone: (() => void) | undefined
  private unwatch: (() => void) | undefined
  private readonly streamable: boolean

  /** @param resumable absent: the answer is lost if the client disconnects */
  constructor(
    private readonly context: RequestContext,
    private readonly form: AnswerForm,
    private readonly resumable?: Resumable,
  ) {
    this.streamable = takesEvents(context.headers.accept)
    this.response = new Promise<HttpResponse>((resolve) => {
      this.settle = resolve
    })
  }

  watch(onGone: () => void): void {
    this.onGone = onGone
    this.unwatch = this.context.onGone(() => this.gone())
  }

  canStream(): boolean {
    if (!this.streamable || this.over) return false
    return this.stream ? this.stream.isConnected : !this.context.isGone()
  }

  canResume(): boolean {
    return !this.over && this.stream !== undefined && this.resumable !== undefined
  }

  message(text: string): void {
    if (this.canStream()) this.open()
    this.stream?.send(text)
  }

  answer(text: string, status = 200, headers?: Record<string, string>): void {
    if (this.over) return
    this.finish()
    const { stream } = this
    if (stream) {
      stream.send(text)
      stream.end()
    } else if (this.form === 'stream' && status === 200) this.settle(eventStream(event(text)))
    else this.settle(json(text, status, headers))
  }

  end(): void {
    if (this.over) return
    this.finish()
    if (this.stream) this.stream.end()
    else this.settle(eventStream(''))
  }

  write(comment: string): void {
    if (this.canStream()) this.open().write(comment)
  }

  sendEventId(): void {
    if (this.resumable?.takesEmptyEvents && this.canStream()) this.open()
  }

  private open(): EventStream | ResumableStream {
    if (this.stream) return this.stream
    // From now on the stream reports the disconnection.
    this.unwatch?.()
    const { resumable } = this
    const connection = new EventStream(this.context, () =>
      resumed ? resumed.disconnected(connection) : this.gone(),
    )
    const resumed = resumable?.log.open(connection, true)
    if (resumable?.takesEmptyEvents) resumed?.prime()
    this.settle(eventStream(connection.body))
    this.stream = resumed ?? connection
    return this.stream
  }

  private gone(): void {
    if (this.over) return
    this.over = true
    // The client is gone, but callers still wait for the response to settle.
    this.settle(eventStream(''))
    this.onGone?.()
  }

  private finish(): void {
    this.over = true
    this.unwatch?.()
  }
}

/** Answers on the session's stream (SSE, stdio). */
export class StreamReply implements Reply {
  constructor(private readonly stream: Pick<ClientStream, 'send'>) {}

  canStream(): boolean {
    return true
  }
  canResume(): boolean {
    return false
  }
  message(text: string): void {
    this.stream.send(text)
  }
  answer(text: string): void {
    this.stream.send(text)
  }
  end(): void {}
  write(): void {}
  sendEventId(): void {}
}

/** The reply to a stateless request over stdio. */
export class LineReply extends StreamReply implements StatelessReply<undefined> {
  readonly response: Promise<undefined>
  private settle!: () => void
  private over = false

  constructor(
    private readonly context: Pick<RequestContext, 'onGone'>,
    stream: Pick<ClientStream, 'send'>,
  ) {
    super(stream)
    this.response = new Promise((resolve) => {
      this.settle = () => resolve(undefined)
    })
  }

  watch(onGone: () => void): void {
    this.context.onGone(() => {
      if (this.over) return
      this.end()
      onGone()
    })
  }

  override canStream(): boolean {
    return !this.over
  }
  override message(text: string): void {
    if (!this.over) super.message(text)
  }
  override answer(text: string): void {
    this.message(text)
    this.end()
  }
  override end(): void {
    this.over = true
    this.settle()
  }
}

const NO_ROOM = errorText(null, {
  code: INTERNAL_ERROR,
  message: limitReached('maxBuffered'),
})

/** The reply to a batch (2025-03-26 and before): one JSON array, or one event for each answer. */
export class BatchReply implements Reply {
  /** Answers held until all are complete; undefined once they are sent as events. */
  private waiting: string[] | undefined = []
  /** One error took the place of all answers. */
  private isRefused = false
  private readonly reservation: MemoryReservation
  private readonly release: () => void

  /** @param owed number of answers; @param lease lease of the request, charged for held answers */
  constructor(
    private readonly reply: Reply,
    private owed: number,
    lease: RequestContext['lease'],
  ) {
    this.reservation = lease.reservation
    // Each call releases its own lease before it answers.
    this.release = lease.extend()
  }

  canStream(): boolean {
    return this.reply.canStream()
  }

  canResume(): boolean {
    return this.reply.canResume()
  }

  message(text: string): void {
    if (!this.canStream() && !this.canResume()) return
    this.stream()
    this.reply.message(text)
  }

  answer(text: string): void {
    if (!this.isRefused) this.take(text)
    this.end()
  }

  private take(text: string): void {
    if (!this.waiting) this.reply.message(text)
    else if (this.reservation.add(text.length)) this.waiting.push(text)
    else {
      // A client cannot use a part of the array.
      this.reply.answer(NO_ROOM, 503)
      this.waiting = undefined
      this.isRefused = true
    }
  }

  end(): void {
    this.owed--
    if (this.owed > 0) return
    if (this.waiting?.length) this.reply.answer(`[${this.waiting.join(',')}]`)
    else this.reply.end()
    this.release()
  }

  write(comment: string): void {
    if (!this.canStream()) return
    this.stream()
    this.reply.write(comment)
  }

  sendEventId(): void {}

  /** After another message, the answers are sent as events too. */
  private stream(): void {
    for (const text of this.waiting ?? []) this.reply.message(text)
    this.waiting = undefined
  }
}
