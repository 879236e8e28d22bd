import type { HttpResponse } from '../access/http-response.ts'
import { type Hold, memory } from '../access/memory.ts'
import { limitReached } from '../access/refusals.ts'
import { type AnswerForm, type Exchange, event, eventStream, json, takesEvents } from './http.ts'
import { errorText, INTERNAL_ERROR } from './protocol.ts'
import type { EventLog, ResumableStream } from './resumption.ts'

/** Chunks that were handed on and are still in the queue's array. */
const MAX_HEAD = 1_000

/**
 * A stream of server-sent events to one client. One whose client does not read ends when what waits for it is more than
 * `maxQueued`, or does not fit into the memory.
 */
export class EventStream {
  /** What waits, and what was handed on last: it is out when more is asked for. */
  private readonly hold: Hold
  private queue: Uint8Array[] = []
  /** Index of the next in `queue`: to shift a long array takes as long as to copy it. */
  private head = 0
  private handed = 0
  private asked = false
  private open = true
  private controller!: ReadableStreamDefaultController<Uint8Array>
  /** The body of the response. */
  readonly body: ReadableStream<Uint8Array>

  /** @param onClose runs once, whoever closes the stream */
  constructor(
    { stay }: Pick<Exchange, 'stay'>,
    private readonly onClose: () => void,
  ) {
    this.hold = memory.queue(stay.sharer)
    stay.onGone(() => this.hold.free())
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller
        },
        pull: () => this.next(),
        cancel: () => this.cancel(),
      },
      // What waits is counted here alone.
      { highWaterMark: 0 },
    )
  }

  /** Sends one JSON-RPC message. */
  send(text: string): void {
    this.write(event(text))
  }

  /** Sends text that is server-sent events already. */
  write(text: string): void {
    if (!this.open) return
    const chunk = Buffer.from(text)
    if (!this.hold.add(chunk.byteLength)) {
      this.close()
      return
    }
    this.queue.push(chunk)
    this.hand()
  }

  get isConnected(): boolean {
    return this.open
  }

  close(): void {
    if (!this.open) return
    this.gone()
    if (!this.queue.length) this.controller.close()
  }

  /** Nothing follows. */
  end(): void {
    this.close()
  }

  private gone(): void {
    if (!this.open) return
    this.open = false
    this.onClose()
  }

  /** What was handed on is out, and more is asked for. */
  private next(): void {
    this.hold.free(this.handed)
    this.handed = 0
    this.asked = true
    this.hand()
  }

  private cancel(): void {
    this.queue = []
    this.hold.free()
    this.gone()
  }

  private hand(): void {
    const chunk = this.queue[this.head]
    if (!this.asked || !chunk) return
    if (++this.head === this.queue.length || this.head === MAX_HEAD) {
      this.queue = this.queue.slice(this.head)
      this.head = 0
    }
    this.asked = false
    this.handed = chunk.byteLength
    this.controller.enqueue(chunk)
    if (!this.open && !this.queue.length) this.controller.close()
  }
}

/** What takes messages to a client. */
export interface ClientStream {
  send(text: string): void
  close(): void
}

/** Where the answer to a request goes, and messages before it. */
export interface Reply {
  /** Whether a message before the answer reaches the client. */
  canStream(): boolean
  /** Whether a message before the answer is kept for a client that comes back. */
  canResume(): boolean
  /** Sends a message before the answer. */
  message(text: string): void
  /** Sends the answer, after which nothing follows; `status` and `headers` count while nothing was sent. */
  answer(text: string, status?: number, headers?: Record<string, string>): void
  /** Ends without an answer. */
  end(): void
  /** Keeps the connection of a waiting client alive. */
  write(comment: string): void
  /** The answer takes long: makes sure that the client can come back for it. */
  prime(): void
}

/** The reply to a request that stands alone. */
export interface LoneReply<Answer> extends Reply {
  /** Runs `onGone` once if the client goes away, or cancels, before the answer. */
  watch(onGone: () => void): void
  /** What is left to be sent when the request is over. */
  readonly response: Promise<Answer>
}

/** What keeps the events of a session. */
export interface Resumable {
  readonly log: EventLog
  /** Whether its client takes an event without data, which only gives it an id (2025-11-25). */
  readonly primes: boolean
}

/**
 * The answer to one POST: JSON when the answer comes first, a stream of server-sent events from the first other message
 * on (Streamable HTTP, Sending Messages).
 */
export class PostReply implements LoneReply<HttpResponse> {
  readonly response: Promise<HttpResponse>
  private settle!: (response: HttpResponse) => void
  private stream: EventStream | ResumableStream | undefined
  private over = false
  private onGone: (() => void) | undefined
  private unwatch: (() => void) | undefined
  private readonly streamable: boolean

  /** @param resumable absent: an answer whose client goes away is lost */
  constructor(
    private readonly exchange: Exchange,
    private readonly form: AnswerForm,
    private readonly resumable?: Resumable,
  ) {
    this.streamable = takesEvents(exchange.headers.accept)
    this.response = new Promise<HttpResponse>((resolve) => {
      this.settle = resolve
    })
  }

  watch(onGone: () => void): void {
    this.onGone = onGone
    this.unwatch = this.exchange.onGone(() => this.gone())
  }

  canStream(): boolean {
    if (!this.streamable || this.over) return false
    return this.stream ? this.stream.isConnected : !this.exchange.isGone()
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
    const { stream, exchange } = this
    if (stream) {
      stream.send(text)
      stream.end()
    } else if (this.form === 'stream' && status === 200) this.settle(eventStream(exchange, event(text)))
    else this.settle(json(exchange, text, status, headers))
  }

  end(): void {
    if (this.over) return
    this.finish()
    if (this.stream) this.stream.end()
    else this.settle(eventStream(this.exchange, ''))
  }

  write(comment: string): void {
    if (this.canStream()) this.open().write(comment)
  }

  prime(): void {
    if (this.resumable?.primes && this.canStream()) this.open()
  }

  private open(): EventStream | ResumableStream {
    if (this.stream) return this.stream
    // The end of the stream says that the client went away.
    this.unwatch?.()
    const { resumable } = this
    const connection = new EventStream(this.exchange, () =>
      resumed ? resumed.disconnected(connection) : this.gone(),
    )
    const resumed = resumable?.log.open(connection, true)
    if (resumable?.primes) resumed?.prime()
    this.settle(eventStream(this.exchange, connection.body))
    this.stream = resumed ?? connection
    return this.stream
  }

  private gone(): void {
    if (this.over) return
    this.over = true
    // Nobody reads it, but whoever waits for the answer is done.
    this.settle(eventStream(this.exchange, ''))
    this.onGone?.()
  }

  private finish(): void {
    this.over = true
    this.unwatch?.()
  }
}

/** The stream that carries all answers of a session (SSE, standard output). */
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
  prime(): void {}
}

/** The reply to one line of a client whose requests stand alone. */
export class LineReply implements LoneReply<undefined> {
  readonly response: Promise<undefined>
  private settle!: () => void
  private over = false

  constructor(
    private readonly exchange: Pick<Exchange, 'onGone'>,
    private readonly stream: Pick<ClientStream, 'send'>,
  ) {
    this.response = new Promise((resolve) => {
      this.settle = () => resolve(undefined)
    })
  }

  watch(onGone: () => void): void {
    this.exchange.onGone(() => {
      if (this.over) return
      this.end()
      onGone()
    })
  }

  canStream(): boolean {
    return !this.over
  }
  canResume(): boolean {
    return false
  }
  message(text: string): void {
    if (!this.over) this.stream.send(text)
  }
  answer(text: string): void {
    this.message(text)
    this.end()
  }
  end(): void {
    this.over = true
    this.settle()
  }
  write(): void {}
  prime(): void {}
}

const NO_ROOM = errorText(null, {
  code: INTERNAL_ERROR,
  message: limitReached('maxBuffered'),
})

/** The reply to a batch (2025-03-26 and before): its answers as one JSON array, or each as an event. */
export class BatchReply implements Reply {
  /** Answers that wait for the others. */
  private waiting: string[] | undefined = []
  private readonly hold: Hold
  private readonly release: () => void

  /** @param owed answers; @param stay of the request, which has the memory that waiting answers take */
  constructor(
    private readonly reply: Reply,
    private owed: number,
    stay: Exchange['stay'],
  ) {
    this.hold = stay.hold
    // Each call frees what it has before it answers.
    this.release = stay.extend()
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
    const { reply, waiting } = this
    if (waiting && !this.hold.add(text.length)) {
      reply.answer(NO_ROOM, 503)
      this.release()
      return
    }
    if (waiting) waiting.push(text)
    else reply.message(text)
    this.end()
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

  prime(): void {}

  /** From the first other message on, the answers are events as well. */
  private stream(): void {
    for (const text of this.waiting ?? []) this.reply.message(text)
    this.waiting = undefined
  }
}
