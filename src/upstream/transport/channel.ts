import { memory } from '../../access/memory.ts'
import { Fault, type Message, type RequestId } from '../../mcp/index.ts'

/**
 * A connection to a session-based server that carries JSON-RPC messages both ways. One channel is one session
 * of the server. It is never used again after it has closed.
 */
export interface Channel {
  /** Sends one message. A fault says why it could not be taken; the channel may live on. */
  send(text: string): Fault | undefined
  /** Ends the session and what carries it. */
  close(): void
  /** Resolves when nothing of it is left. */
  readonly ended: Promise<void>
  /** Of the child, where there is one. */
  readonly pid?: number | undefined
}

export interface ChannelEvents {
  /** A message of the server, and its text on one line. */
  message(message: Message, text: string): void
  /** A message came that is not accepted; the request that it answers when that could be found. */
  rejected(id: RequestId | undefined, fault: Fault): void
  /** The channel closed without being asked to. */
  closed(fault: Fault): void
}

/** A text on one line: line breaks of JSON stand between its tokens only, so a space does as well. */
export function oneLine(text: string): string {
  if (!text.includes('\n') && !text.includes('\r')) return text
  // Byte by byte, as a replacement takes long where there are very many.
  const bytes = Buffer.from(text)
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === 10 || bytes[i] === 13) bytes[i] = 32
  return bytes.toString()
}

/** What a caller hears of a fault of the gateway's own. */
export const FAILED = 'Internal error'

/** Why a message is rejected that is larger than `maxResponseSize`. */
export const TOO_LARGE = new Fault('invalid', 'The answer of the server is larger than maxResponseSize')

/** Messages on their way to a server, which takes them one after the other: bounded in bytes. */
export class Outgoing {
  readonly #hold = memory.queue()
  #closed = false

  /** @param server for the fault */
  constructor(private readonly server: string) {}

  /** Takes a message, which counts until `sent`; a fault when there is no room for it. */
  add(text: string): Fault | undefined {
    if (!this.#closed && this.#hold.add(text.length)) return undefined
    return new Fault('busy', `The server ${this.server} does not read what is sent to it; try again later`)
  }

  sent(text: string): void {
    if (!this.#closed) this.#hold.free(text.length)
  }

  /** Nothing is sent any more. */
  close(): void {
    this.#closed = true
    this.#hold.free()
  }
}
