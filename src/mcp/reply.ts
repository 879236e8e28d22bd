import { type AnswerForm, type Exchange, event, eventStream, json, takesEvents } from './http.ts'
import { type EventStream, openStream } from './stream.ts'

/**
 * The answer to one POST that may need more than one message: JSON when the answer comes first, a stream of
 * server-sent events from the first other message on (Streamable HTTP, Sending Messages).
 */
export interface PostReply {
  readonly response: Promise<Response>
  /** Whether a message before the answer reaches the client. */
  canStream(): boolean
  /** Sends a message before the answer. */
  message(text: string): void
  /** The answer, after which nothing follows; `status` counts while nothing has been sent. */
  answer(text: string, status?: number): void
  /** Ends without an answer. */
  end(): void
  /** Keeps a waiting client's connection alive; what the hub calls. */
  write(comment: string): void
}

/** @param onGone runs once if the client goes away before the answer */
export function openReply(exchange: Exchange, form: AnswerForm, onGone: () => void): PostReply {
  const streamable = takesEvents(exchange.headers.accept)
  let settle: (response: Response) => void = () => {}
  const response = new Promise<Response>((resolve) => {
    settle = resolve
  })
  let stream: EventStream | undefined
  let over = false
  const gone = () => {
    if (over) return
    over = true
    onGone()
  }
  // Once there is a stream, its own end tells that the client went away.
  const unwatch = exchange.onGone(gone)

  function open(): EventStream {
    if (!stream) {
      unwatch()
      stream = openStream(exchange, gone)
      settle(eventStream(exchange, stream.body))
    }
    return stream
  }
  function finish(): void {
    over = true
    unwatch()
  }

  return {
    response,
    canStream: () => streamable && !over,
    message(text) {
      if (streamable && !over) open().send(text)
    },
    answer(text, status = 200) {
      if (over) return
      finish()
      if (stream) {
        stream.send(text)
        stream.close()
      } else if (form === 'stream' && status === 200) settle(eventStream(exchange, event(text)))
      else settle(json(exchange, text, status))
    },
    end() {
      if (over) return
      finish()
      if (stream) stream.close()
      else settle(eventStream(exchange, ''))
    },
    write(comment) {
      if (streamable && !over) open().write(comment)
    },
  }
}
