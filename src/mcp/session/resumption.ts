import { randomBytes } from 'node:crypto'
import { type MemoryReservation, memory } from '../../access/memory.ts'
import { event } from '../http.ts'

/** Characters of events kept for one session; a larger event, up to `maxQueued`, is kept alone. */
const MAX_KEPT = 1024 * 1024
/** Milliseconds for which an event is kept. */
const KEPT_FOR = 300_000
/** Maximum resumable streams of one session. */
const MAX_STREAMS = 256

/** A connection of a resumable stream. */
interface Connection {
  readonly isConnected: boolean
  write(text: string): void
  close(): void
}

interface KeptEvent {
  stream: ResumableStream
  number: number
  text: string
  at: number
}

/**
 * The latest events of a session's streams, for a client that reconnects with `Last-Event-ID` (2025-11-25, Resumability
 * and Redelivery). An event id names the log, the stream and the event's number. The log's name begins with the mark of
 * its replica, as each replica that serves the session has its own log.
 */
export class EventLog {
  readonly #name: string
  readonly #reservation: MemoryReservation
  #events: KeptEvent[] = []
  readonly #streams = new Map<number, ResumableStream>()
  #count = 0

  /**
   * @param quotaKey charged for the memory, which is freed if needed elsewhere
   * @param mark of this replica; absent: there is only one
   */
  constructor(quotaKey: string, mark = '') {
    this.#name = mark + randomBytes(6).toString('base64url')
    this.#reservation = memory.spare(quotaKey, () => this.#drop())
  }

  /** Opens a stream of the session. @param ofCall whether it ends with the answer to a request */
  open(connection: Connection, ofCall = false): ResumableStream {
    const stream = new ResumableStream(this, ++this.#count, ofCall)
    stream.connect(connection)
    this.#streams.set(stream.number, stream)
    if (this.#streams.size > MAX_STREAMS) this.#forgetOldest()
    return stream
  }

  /** The stream to resume; undefined: unknown. */
  find(lastEventId: string): { stream: ResumableStream; after: number } | undefined {
    const [, name, number, after] = /^([\w-]{8,16})\.(\d{1,15})\.(\d{1,15})$/.exec(lastEventId) ?? []
    const stream = name === this.#name ? this.#streams.get(Number(number)) : undefined
    return stream && { stream, after: Number(after) }
  }

  idOf({ number: stream }: ResumableStream, number: number): string {
    return `${this.#name}.${stream}.${number}`
  }

  keep(stream: ResumableStream, number: number, text: string): void {
    this.expire()
    if (text.length > memory.queueLimit) return
    const most = Math.min(MAX_KEPT, memory.queueLimit)
    while (this.#events.length && this.#reservation.size + text.length > most) this.#drop()
    if (!this.#reservation.add(text.length)) return
    this.#events.push({ stream, number, text, at: performance.now() })
    stream.kept++
  }

  /** Events of a stream after a number, oldest first. */
  after(stream: ResumableStream, number: number): KeptEvent[] {
    return this.#events.filter((kept) => kept.stream === stream && kept.number > number)
  }

  /** Drops expired events. */
  expire(): void {
    const oldest = performance.now() - KEPT_FOR
    while (this.#events[0] && this.#events[0].at < oldest) this.#drop()
  }

  close(): void {
    this.#events = []
    this.#streams.clear()
    this.#reservation.close()
  }

  #drop(): void {
    const dropped = this.#events.shift()
    if (!dropped) return
    this.#reservation.free(dropped.text.length)
    const { stream } = dropped
    stream.kept--
    if (stream.ended && !stream.kept) this.#streams.delete(stream.number)
  }

  #forgetOldest(): void {
    for (const stream of this.#streams.values()) {
      // The call's answer is still to come.
      if (stream.ofCall ? !stream.ended : stream.isConnected) continue
      this.#streams.delete(stream.number)
      return
    }
  }
}

/** The mark of the replica that sent an event; undefined: the id has none. */
export function markIn(lastEventId: string): string | undefined {
  return /^([\w-]{8})[\w-]{8}\./.exec(lastEventId)?.[1]
}

/** A stream of events to one client that outlives its connections. */
export class ResumableStream {
  /** No event follows. */
  ended = false
  /** Number of its events in the log. */
  kept = 0
  #connection: Connection | undefined
  #last = 0

  constructor(
    private readonly log: EventLog,
    readonly number: number,
    readonly ofCall: boolean,
  ) {}

  get isConnected(): boolean {
    return this.#connection?.isConnected === true
  }

  /** Replaces the connection, and closes the previous one. */
  connect(connection: Connection): void {
    const former = this.#connection
    this.#connection = connection
    former?.close()
  }

  /** Called when a connection has closed. */
  disconnected(connection: Connection): void {
    if (this.#connection === connection) this.#connection = undefined
  }

  /** Sends the events after a number again, and continues. */
  resume(connection: Connection, after: number): void {
    this.connect(connection)
    for (const { number, text } of this.log.after(this, after)) connection.write(this.#eventOf(number, text))
    if (this.ended) connection.close()
  }

  /** Sends an event id before the first event, so that the client can resume. */
  prime(): void {
    this.#connection?.write(`id: ${this.log.idOf(this, this.#last)}\ndata:\n\n`)
  }

  /** Sends one JSON-RPC message. */
  send(text: string): void {
    const number = ++this.#last
    this.log.keep(this, number, text)
    this.#connection?.write(this.#eventOf(number, text))
  }

  /** Sends a comment, which is not kept. */
  write(comment: string): void {
    this.#connection?.write(comment)
  }

  /** Ends the stream. */
  end(): void {
    this.ended = true
    this.close()
  }

  /** Closes the connection; the client may resume. */
  close(): void {
    this.#connection?.close()
  }

  #eventOf(number: number, text: string): string {
    return event(text, 'message', this.log.idOf(this, number))
  }
}
