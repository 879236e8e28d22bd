import type { Readable } from 'node:stream'
import { memory } from '../../access/memory.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { paced } from '../../text/index.ts'

/** Messages as lines, the framing of stdio at both ends. */

/** A text on one line: JSON has line breaks only between tokens, so a space is equivalent. */
export function oneLine(text: string): string {
  if (!text.includes('\n') && !text.includes('\r')) return text
  // A regular expression would be slow for very many line breaks.
  const bytes = Buffer.from(text)
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === 10 || bytes[i] === 13) bytes[i] = 32
  return bytes.toString()
}

/**
 * Splits a stream of bytes into lines of at most `limit` bytes; `oversized` gets both ends of a longer line.
 * @param reservation memory reservation for the unfinished line; its creator frees it
 */
export function lineSplitter(
  limit: () => number,
  onLine: (line: Buffer) => void,
  oversized: (head: string, tail: string) => void,
  reservation = memory.reserve(),
): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let size = 0
  /** Both ends of an oversized line that is being skipped. */
  let skipped: { head: string; tail: Buffer } | undefined

  function add(part: Buffer): void {
    if (skipped) skipped.tail = Buffer.concat([skipped.tail, part]).subarray(-ENDS)
    else if (size + part.length > limit() || (part.length && !reservation.add(part.length))) {
      const all = Buffer.concat([...parts, part])
      skipped = { head: all.subarray(0, ENDS).toString('latin1'), tail: Buffer.from(all.subarray(-ENDS)) }
      parts = []
      size = 0
      reservation.free()
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
    reservation.free()
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

/** Reads a stream, and pauses it after each piece of work so that others get their turn. */
export function readInTurns(stream: Readable, take: (chunk: Buffer) => void): void {
  const pace = paced()
  stream.on('data', (chunk: Buffer) => {
    take(chunk)
    const others = pace(chunk.length)
    if (!others) return
    stream.pause()
    others.then(() => stream.resume()).catch(unexpected('a stream of messages'))
  })
}

/** Bytes kept of each end of an oversized line, to find the message id. */
const ENDS = 256

/** The id of a response from its first and last characters, at the usual places of an id. */
export function idInEnds(head: string, tail: string): string | number | undefined {
  const id = '("(?:[^"\\\\]|\\\\.){0,200}"|-?\\d{1,15})'
  const found =
    new RegExp(`^\\s*\\{(?:"jsonrpc":\\s*"2\\.0",\\s*)?"id":\\s*${id}\\s*,`).exec(head) ??
    new RegExp(`,\\s*"id":\\s*${id}\\s*(?:,"jsonrpc":\\s*"2\\.0"\\s*)?\\}\\s*$`).exec(tail)
  return found ? JSON.parse(found[1] as string) : undefined
}
