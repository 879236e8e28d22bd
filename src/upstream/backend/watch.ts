import { isObject, type RequestId } from '../../mcp/index.ts'

/** Watches the answer to a request as its bytes pass, without reading them. */
export interface Watch {
  /** @returns false when a message is larger than it may be */
  see(chunk: Buffer): boolean
  /** Whether the answer has not come. */
  missing(): boolean
  /** Whether the last event has ended. */
  isWhole(): boolean
}

/** Bytes of an event beside its data. */
const FRAME = 256
const [LF, CR, SPACE, BRACKET, OPEN] = [10, 13, 32, 91, 123]
/** From the code of an opening bracket or brace to that of the closing one. */
const TO_CLOSING = 2

/**
 * Watches events for the one that answers a request, and measures them. The answer to a stream whose events have ids does
 * not miss either: the client can go on with it elsewhere.
 * @param limit bytes of an event's data
 */
export function watchEvents(id: RequestId | null, limit: number): Watch {
  const own = id === null ? () => NOWHERE : inPieces(finderOf(id))
  const eventId = inPieces((bytes, isFirst) => {
    if (isFirst && bytes.toString('latin1', 0, 3) === 'id:') return 0
    const found = [bytes.indexOf('\nid:'), bytes.indexOf('\rid:')].filter((at) => at >= 0)
    return found.length ? Math.min(...found) : -1
  })
  /** Where in the piece the answer is named, and where an event's id begins; -1 in one before. */
  let named = NOWHERE
  let identified = NOWHERE
  let isThere = id === null
  let isResumable = false
  let size = 0
  let line = 0
  /** Whether a line feed that comes next belongs to the line's end before it. */
  let afterReturn = false
  return {
    missing: () => !isThere && !isResumable,
    isWhole: () => size === 0,
    see(chunk) {
      named = named < NOWHERE ? -1 : own(chunk)
      identified = identified < NOWHERE ? -1 : eventId(chunk)
      const nextEnd = lineEnds(chunk)
      let start = afterReturn && chunk[0] === LF ? 1 : 0
      let most = 0
      for (let at = nextEnd(start); at < chunk.length; at = nextEnd(start)) {
        line += at - start
        size += at - start + 1
        most = Math.max(most, size)
        if (line === 0) {
          size = 0
          // An id counts once its event has ended (HTML, Server-sent events).
          isThere ||= at > named
          isResumable ||= at > identified
        }
        line = 0
        start = at + (chunk[at] === CR && chunk[at + 1] === LF ? 2 : 1)
      }
      afterReturn = chunk.at(-1) === CR
      line += chunk.length - start
      size += chunk.length - start
      if (Math.max(most, size) <= limit + FRAME) return true
      // It would be too large again.
      isResumable = false
      return false
    },
  }
}

/** Finds the ends of lines, CR, LF or both (HTML, 9.2.5), each byte once: where from `start` on, or behind the last byte. */
function lineEnds(chunk: Buffer): (start: number) => number {
  const find = (byte: number, start: number) => {
    const at = chunk.indexOf(byte, start)
    return at < 0 ? chunk.length : at
  }
  let [feed, back] = [-1, -1]
  return (start) => {
    if (feed < start) feed = find(LF, start)
    if (back < start) back = find(CR, start)
    return Math.min(feed, back)
  }
}

/** Watches JSON for what begins and ends as the response to a request does, and names it. */
export function watchJson(id: RequestId, status: number, batch: boolean): Watch {
  // An error may be one of no request that the server could read.
  const finders = (status >= 400 ? [id, null] : [id]).map((each) => inPieces(finderOf(each)))
  let isNamed = false
  let first: number | undefined
  let last: number | undefined
  return {
    see(chunk) {
      isNamed ||= finders.some((find) => find(chunk) < NOWHERE)
      first ??= chunk.find((byte) => byte > SPACE)
      last = chunk.findLast((byte) => byte > SPACE) ?? last
      return true
    },
    missing() {
      const opens = first === OPEN || (batch && first === BRACKET)
      return !isNamed || !opens || last !== first! + TO_CLOSING
    },
    isWhole: () => true,
  }
}

/** Whether a text that is not written as usual is the JSON-RPC response to a request after all. */
export function isAnswer(whole: Buffer, id: RequestId): boolean {
  try {
    const raw: unknown = JSON.parse(whole.toString())
    return isObject(raw) && (raw.id === id || raw.id === null) && ('result' in raw || 'error' in raw)
  } catch {
    return false
  }
}

/** Finds something in bytes: where, or -1. @param isFirst whether they begin the body */
type Find = (bytes: Buffer, isFirst: boolean) => number

/** Bytes at the end of a piece that are looked at again with the next one. */
const OVERLAP = 300
const NOWHERE = Number.POSITIVE_INFINITY

/** Finds something in a body that comes in pieces: where from the start of the piece, or `NOWHERE`. */
function inPieces(find: Find): (piece: Buffer) => number {
  let rest: Buffer | undefined
  return (piece) => {
    const bytes = rest ? Buffer.concat([rest, piece]) : piece
    const at = find(bytes, !rest)
    const before = bytes.length - piece.length
    rest = bytes.subarray(-OVERLAP)
    return at < 0 ? NOWHERE : at - before
  }
}

/** Finds a member `id` like the request's, which is taken for that of its answer. */
function finderOf(id: RequestId | null): Find {
  const value = JSON.stringify(id)
  const members = [`"id":${value}`, `"id": ${value}`]
  return (bytes) => {
    for (const member of members)
      for (let at = bytes.indexOf(member); at >= 0; at = bytes.indexOf(member, at + 1)) {
        const next = bytes[at + member.length]
        // Neither a longer number nor one that may go on in the next piece.
        if (next !== undefined && (next < 0x30 || next > 0x39)) return at
      }
    return -1
  }
}
