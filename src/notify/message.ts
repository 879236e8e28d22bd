import { hostname } from 'node:os'
import { parse } from '../json/index.ts'

/** The published message. It holds no configuration: receivers read their own store. */
export interface ReloadMessage {
  event: 'reload'
  /** Name of the only configuration that changed; absent: any may have changed. */
  name?: string
  /** `host:pid` of the sending process, for the log. */
  sender: string
}

export function writeMessage(name?: string): string {
  const message: ReloadMessage = {
    event: 'reload',
    ...(name !== undefined && { name }),
    sender: `${hostname()}:${process.pid}`,
  }
  return JSON.stringify(message)
}

/** Parses a message; undefined for text in another form. */
export function readMessage(text: string): ReloadMessage | undefined {
  // `writeMessage` writes nothing longer.
  if (text.length > 4096) return undefined
  let value: unknown
  try {
    value = parse(text)
  } catch {
    return undefined
  }
  const { event, name, sender } = (value ?? {}) as Record<string, unknown>
  if (event !== 'reload' || !(name === undefined || typeof name === 'string')) return undefined
  return {
    event,
    ...(name !== undefined && { name }),
    sender: typeof sender === 'string' ? sender : 'unknown',
  }
}
