import type { ByteReservation } from './types.ts'

/** A server-sent event (HTML, 9.2.6). */
export interface ServerEvent {
  event: string
  data: string
  /** Id in the event itself; absent if the event has none. */
  id?: string
}

/** The position from which a client can resume a stream. */
export interface StreamPosition {
  /** Id of the last event, if it can be sent as `Last-Event-ID`. */
  id?: string | undefined
  /** Milliseconds to wait before the next connection. */
  retry?: number | undefined
}

/** An id that is a valid header value of at most 1024 characters. */
const SENDABLE = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/

/** Maximum UTF-16 units of a field's name with its colon. */
const ROOM = 16

/**
 * Parses server-sent events from pieces of text. Ignores comments and unknown fields.
 *
 * The package `eventsource-parser` 3.1 takes 9 times as long for 64 KiB pieces of CR (quadratic in the piece), stops
 * after an event above its limit, and does not report how much it holds.
 * @param limit maximum bytes of the data of one event; a longer event is dropped, and `tooLarge` is called
 * @param reservation counts the bytes of the incomplete event; the caller releases it
 * @param position is updated with each event
 */
export function eventParser(
  limit: number,
  onEvent: (event: ServerEvent) => void,
  tooLarge: () => void,
  reservation: ByteReservation,
  position: StreamPosition = {},
): (text: string) => void {
  /** Pieces of an incomplete line. */
  let rest: string[] = []
  let waiting = 0
  let event = ''
  let id: string | undefined
  let data: string[] = []
  let size = 0
  let dropped = false
  let afterReturn = false
  let isFirst = true

  function line(text: string): void {
    if (text === '') dispatch()
    else if (text.startsWith('data:')) add(text.slice(text[5] === ' ' ? 6 : 5))
    else if (text === 'data') add('')
    else if (text.startsWith('event:')) event = text.slice(text[6] === ' ' ? 7 : 6)
    else if (text === 'event') event = ''
    else if (text === 'id') id = ''
    else if (text.startsWith('id:')) id = text.slice(text[3] === ' ' ? 4 : 3)
    else if (/^retry: ?\d{1,9}$/.test(text)) position.retry = Number(text.slice(6))
  }
  function dispatch(): void {
    if (data.length && !dropped)
      onEvent({
        event: event || 'message',
        data: data.length === 1 ? data[0]! : data.join('\n'),
        ...(id !== undefined && { id }),
      })
    if (id !== undefined) position.id = SENDABLE.test(id) ? id : undefined
    id = undefined
    event = ''
    data = []
    size = 0
    dropped = false
  }
  function add(value: string): void {
    size += Buffer.byteLength(value) + (data.length ? 1 : 0)
    if (size <= limit) data.push(value)
    else drop()
  }
  function drop(): void {
    if (!dropped) tooLarge()
    dropped = true
    data = ['']
  }

  return (piece) => {
    if (piece === '') return
    let text = afterReturn && piece[0] === '\n' ? piece.slice(1) : piece
    // A byte order mark at the beginning of the stream is no part of its first line.
    if (isFirst && text[0] === '\ufeff') text = text.slice(1)
    isFirst = false
    afterReturn = text.endsWith('\r')
    if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n')
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const tail = text.slice(start, end)
      line(rest.length ? rest.join('') + tail : tail)
      if (rest.length) rest = []
      start = end + 1
    }
    if (start > 0) waiting = 0
    if (start < text.length) rest.push(text.slice(start))
    waiting += text.length - start
    if (waiting > limit + ROOM || !reservation.replace(waiting + size)) {
      drop()
      rest = ['data: ']
      waiting = 0
      size = 0
      reservation.free()
    }
  }
}

/** Maximum bytes of an event of this gateway. */
const MAX_OWN_EVENT = 64 * 1024 * 1024

/** Events in a stream of this gateway. @throws Error if one is too large */
export async function* ownEvents(pieces: AsyncIterable<string>): AsyncGenerator<ServerEvent> {
  const events: ServerEvent[] = []
  const onTooLarge = () => {
    throw new Error(`an event has more than ${MAX_OWN_EVENT} bytes`)
  }
  const uncounted: ByteReservation = { add: () => true, replace: () => true, free() {} }
  const parse = eventParser(MAX_OWN_EVENT, (event) => void events.push(event), onTooLarge, uncounted)
  for await (const piece of pieces) {
    parse(piece)
    yield* events.splice(0)
  }
}
