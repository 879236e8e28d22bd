import { memory } from '../access/memory.ts'
import { type Exchange, event } from './http.ts'

/** An open stream of server-sent events to one client. */
export interface EventStream {
  readonly body: ReadableStream<Uint8Array>
  /** Sends one JSON-RPC message. */
  send(text: string): void
  /** Sends text that is server-sent events already. */
  write(text: string): void
  close(): void
}

const encoder = new TextEncoder()
/** Chunks that were handed on and are still in the queue's array. */
const MAX_HEAD = 1_000

/**
 * Opens a stream; `onClose` runs once, whoever closes it. One whose client does not read ends when what waits for it
 * is more than `maxQueued`, or does not fit into the memory.
 */
export function openStream({ stay }: Pick<Exchange, 'stay'>, onClose: () => void): EventStream {
  /** What waits, and what was handed on last: it is out when more is asked for. */
  const hold = memory.queue(stay.sharer)
  let queue: Uint8Array[] = []
  /** Index of the next in `queue`: to shift a long array takes as long as to copy it. */
  let head = 0
  let handed = 0
  let asked = false
  let open = true
  let controller: ReadableStreamDefaultController<Uint8Array>
  const end = () => {
    if (!open) return
    open = false
    onClose()
  }
  const hand = () => {
    const chunk = queue[head]
    if (asked && chunk) {
      asked = false
      if (++head === queue.length || head === MAX_HEAD) {
        queue = queue.slice(head)
        head = 0
      }
      handed = chunk.byteLength
      controller.enqueue(chunk)
    }
    if (!open && !queue.length) controller.close()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
      },
      pull() {
        hold.free(handed)
        handed = 0
        asked = true
        hand()
      },
      cancel() {
        queue = []
        hold.free()
        end()
      },
    },
    { highWaterMark: 0 },
  )
  stay.onGone(() => hold.free())
  const close = () => {
    if (!open) return
    end()
    if (!queue.length) controller.close()
  }
  const write = (text: string) => {
    if (!open) return
    const chunk = encoder.encode(text)
    if (!hold.add(chunk.byteLength)) return close()
    queue.push(chunk)
    hand()
  }
  return { body, write, send: (text) => write(event(text)), close }
}
