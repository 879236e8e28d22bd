import type { Readable } from 'node:stream'
import { memory } from '../access/memory.ts'

/** Messages as lines: what the transport over standard input and output has at both of its ends. */

/** A text on one line: line breaks of JSON stand between its tokens only, so a space does as well. */
export function oneLine(text: string): string {
  if (!text.includes('\n') && !text.includes('\r')) return text
  // Byte by byte, as a replacement takes long where there are very many.
  const bytes = Buffer.from(text)
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === 10 || bytes[i] === 13) bytes[i] = 32
  return bytes.toString()
}

/**
 * Splits a stream of bytes into lines of at most `limit` bytes that there is room for; `oversized` gets the ends of a
 * longer one.
 * @param hold has the line that has not ended; whoever made it frees it
 */
export function lineSplitter(
  limit: () => number,
  onLine: (line: Buffer) => void,
  oversized: (head: string, tail: string) => void,
  hold = memory.hold(),
): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let size = 0
  /** The ends of a line that is being passed over. */
  let skipped: { head: string; tail: Buffer } | undefined

  function add(part: Buffer): void {
    if (skipped) skipped.tail = Buffer.concat([skipped.tail, part]).subarray(-ENDS)
    else if (size + part.length > limit() || (part.length && !hold.add(part.length))) {
      const all = Buffer.concat([...parts, part])
      skipped = { head: all.subarray(0, ENDS).toString('latin1'), tail: Buffer.from(all.subarray(-ENDS)) }
      parts = []
      size = 0
      hold.free()
    } else if (part.length) {
      parts.push(part)
      size += part.length
    }
  }
  function end(): void {
    if (skipped) oversized(skipped.head, skipped.tail.toString('latin1'))
    else if (size) onLine(parts.length === 1 ? parts[0]! : Buffer.concat(parts, size))
    skipped = undefined
    parts = []
    size = 0
    hold.free()
  }
  return (chunk) => {
    let start = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, at))
      end()
      start = at + 1
    }
    if (start < chunk.length) add(chunk.subarray(start))
  }
}

/** Milliseconds of one turn of the event loop for what one stream brings. */
const SLICE = 10
/** Milliseconds for a chunk that is not worth counting. */
const QUICK = 1

/** Reads a stream chunk by chunk. Once its chunks have taken long, others get a turn of the event loop. */
export function readInTurns(stream: Readable, take: (chunk: Buffer) => void): void {
  let spent = 0
  stream.on('data', (chunk: Buffer) => {
    const started = performance.now()
    take(chunk)
    const took = performance.now() - started
    if (took < QUICK) return
    if (spent === 0)
      setImmediate(() => {
        spent = 0
        stream.resume()
      })
    spent += took
    if (spent > SLICE) stream.pause()
  })
}

/** Bytes of each end of a long line that are kept, to find its id in. */
const ENDS = 256

/** The id of a response of which only the ends are known, where writers put it. */
export function idInEnds(head: string, tail: string): string | number | undefined {
  const id = '("(?:[^"\\\\]|\\\\.){0,200}"|-?\\d{1,15})'
  const found =
    new RegExp(`^\\s*\\{(?:"jsonrpc":\\s*"2\\.0",\\s*)?"id":\\s*${id}\\s*,`).exec(head) ??
    new RegExp(`,\\s*"id":\\s*${id}\\s*(?:,"jsonrpc":\\s*"2\\.0"\\s*)?\\}\\s*$`).exec(tail)
  return found ? JSON.parse(found[1] as string) : undefined
}
