import { pause } from '../text/index.ts'
import type { Plant } from './store.ts'

/** UTF-16 units after which a piece of a list's text is handed on. */
const PIECE = 65_536

/** The JSON array of plants, as text in pieces of about 64 Ki characters or of one plant that is larger. */
export async function* jsonArray(lists: AsyncIterable<readonly Plant[]>): AsyncGenerator<string, undefined> {
  let piece = '['
  let separator = ''
  for await (const plants of lists)
    for (const plant of plants) {
      piece += separator + JSON.stringify(plant)
      separator = ','
      if (piece.length < PIECE) continue
      await pause()
      yield piece
      piece = ''
    }
  yield `${piece}]`
  return undefined
}

/**
 * The body of an answer from pieces of text: one string for one piece, else a stream that reads on demand.
 * @param breakOff called with a fault after the first two pieces, when it is too late for another status; ends the
 *   connection, so that the client does not take the part for the whole. False if it cannot: then the stream fails
 * @throws what `pieces` throws for the first two
 */
export async function bodyOf(
  pieces: AsyncGenerator<string, undefined>,
  breakOff: (error: Error) => boolean,
): Promise<string | ReadableStream<Uint8Array>> {
  const first = await pieces.next()
  let ready: IteratorResult<string> | undefined = await pieces.next()
  if (first.done || ready.done) return first.value ?? ''
  const encoder = new TextEncoder()
  // A client that goes away while a piece is read does not take the piece.
  let gone = false
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(first.value)),
    async pull(controller) {
      try {
        const piece = ready ?? (await pieces.next())
        ready = undefined
        if (gone) return
        if (piece.done) controller.close()
        else controller.enqueue(encoder.encode(piece.value))
      } catch (error) {
        if (!gone && !breakOff(error as Error)) controller.error(new Error('the list broke off'))
      }
    },
    async cancel() {
      gone = true
      await pieces.return(undefined)
    },
  })
}
