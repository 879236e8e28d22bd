import { memory } from '../../access/memory.ts'
import { Fault } from '../../mcp/index.ts'

/** Messages on their way to a server, which takes them one after the other: bounded in bytes. */
export interface Outgoing {
  /** Whether there is room for a message; it counts until `sent`. */
  add(text: string): boolean
  sent(text: string): void
  /** Nothing is sent any more. */
  close(): void
}

export function createOutgoing(): Outgoing {
  const hold = memory.queue()
  let closed = false
  return {
    add: (text) => !closed && hold.add(text.length),
    sent: (text) => {
      if (!closed) hold.free(text.length)
    },
    close() {
      closed = true
      hold.free()
    },
  }
}

/** Why a message to a server was not taken. */
export function notTaken(server: string): Fault {
  return new Fault('busy', `The server ${server} does not read what is sent to it; try again later`)
}
