import { event } from './http.ts'

/** An open stream of server-sent events to one client. */
export interface EventStream {
  readonly body: ReadableStream<Uint8Array>
  /** Sends one JSON-RPC message. */
  send(text: string): void
  /** Sends text that is server-sent events already. */
  write(text: string): void
  close(): void
}

/** Bytes that wait for a client which does not read, before the gateway gives it up. */
const MAX_QUEUED = 32 * 1024 * 1024
const encoder = new TextEncoder()

/** Opens a stream; `onClose` runs once, whoever closes it. */
export function openStream(onClose: () => void): EventStream {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const end = () => {
    controller = undefined
    onClose()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
      },
      cancel: end,
    },
    { highWaterMark: MAX_QUEUED, size: (chunk) => chunk.byteLength },
  )
  const close = () => {
    if (!controller) return
    controller.close()
    end()
  }
  const write = (text: string) => {
    if (!controller) return
    if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(text))
    else close()
  }
  return { body, write, send: (text) => write(event(text)), close }
}
