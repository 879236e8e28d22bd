import type { Readable } from 'node:stream'

/** Maximum bytes queued for a client before the replica is paused. */
const MAX_QUEUED = 256 * 1024

/**
 * A body as a stream for a client, at the client's pace; when either side leaves, the other side is ended.
 * @param lastWords what a client is sent when the body breaks off; undefined: its connection breaks off, too
 */
export function streamOf(
  body: Readable,
  lastWords: string | undefined,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  let over = false
  const end = () => {
    over = true
    onEnd()
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const once = (then: () => void) => () => {
          if (over) return
          end()
          then()
        }
        body.on('data', (chunk: Buffer) => {
          if (over) return
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) body.pause()
        })
        body.on(
          'end',
          once(() => controller.close()),
        )
        body.on('error', (error) =>
          once(() => {
            if (lastWords === undefined) return controller.error(error)
            controller.enqueue(Buffer.from(lastWords))
            controller.close()
          })(),
        )
      },
      pull() {
        body.resume()
      },
      cancel() {
        end()
        body.destroy()
      },
    },
    { highWaterMark: MAX_QUEUED, size: (chunk) => chunk.byteLength },
  )
}
