import type { Hold } from '../../access/memory.ts'
import { errorText, INTERNAL_ERROR, type PostReply } from '../../mcp/index.ts'

const NO_ROOM = errorText(null, {
  code: INTERNAL_ERROR,
  message: 'The gateway has reached a limit (maxBuffered): try again later',
})

/**
 * The reply to a batch (2025-03-26 and before): its answers as one JSON array, or each as an event.
 * @param hold has the answers that wait for the others
 */
export function batchReply(reply: PostReply, owed: number, hold: Hold): PostReply {
  let waiting: string[] | undefined = []
  let left = owed
  const last = () => {
    left--
    return left <= 0
  }
  /** From the first other message on, the answers are events as well. */
  function stream(): void {
    for (const text of waiting ?? []) reply.message(text)
    waiting = undefined
  }
  return {
    ...reply,
    message(text) {
      if (!reply.canStream()) return
      stream()
      reply.message(text)
    },
    answer(text) {
      if (waiting && !hold.add(text.length)) return reply.answer(NO_ROOM, 503)
      if (waiting) waiting.push(text)
      else reply.message(text)
      if (!last()) return
      if (waiting) reply.answer(`[${waiting.join(',')}]`)
      else reply.end()
    },
    end() {
      if (!last()) return
      if (waiting?.length) reply.answer(`[${waiting.join(',')}]`)
      else reply.end()
    },
    write(comment) {
      if (!reply.canStream()) return
      stream()
      reply.write(comment)
    },
  }
}
