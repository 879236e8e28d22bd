import { CALL, CALL_READ, readToolCall } from '../discovery/index.ts'
import { parseVerbatim } from '../json/index.ts'
import type { RequestContext } from './context.ts'
import { type Message, withParams } from './protocol.ts'

/** How a client lists tools, if not completely. */
export interface Listing {
  readonly mode: 'search' | 'auto'
  /** Decision of `auto`; undefined: not made yet. */
  searches?: boolean
}

/** The listing mode of a request; undefined: all tools are listed. */
export function listingOf({ route: { discovery }, listing }: RequestContext): Listing | undefined {
  const mode = discovery && (listing ?? discovery.mode)
  return mode === undefined || mode === 'list' ? undefined : { mode }
}

/** Replaces a `call_tool` message by the call that it contains; an unreadable one is returned unchanged. */
export function unwrapped(message: Message): Message {
  if (!isIndirect(message)) return message
  const { params } = message
  const called = readToolCall(String(params.name), params.arguments, parseVerbatim)
  if ('text' in called) return message
  return { ...withParams(message, { ...params, ...called }), via: String(params.name) }
}

/** Whether a message calls a tool through `call_tool` or `call_read_tool`. */
export function isIndirect(message: Message): message is Extract<Message, { kind: 'request' }> {
  if (message.kind !== 'request' || message.method !== 'tools/call') return false
  const { name } = message.params
  return name === CALL || name === CALL_READ
}
