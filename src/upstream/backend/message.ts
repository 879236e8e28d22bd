import { stringify } from '../../json/index.ts'
import type { Message } from '../../mcp/index.ts'

/** The JSON text of a message of a batch. */
export function textOf(message: Message): string {
  return stringify('raw' in message ? message.raw : null)
}

/** A notification of the gateway's own, whose text goes beside it. */
export function noted(method: string): Message {
  return { kind: 'notification', method, params: {}, raw: {} }
}
