import { hostname } from 'node:os'
import { parse } from '../json/index.ts'

/** The published message: that configurations changed, never a configuration; receivers read their own store. */
export interface ReloadMessage {
  event: 'reload'
  /** The configuration that changed; absent: any of them. */
  name?: string
  /** Host and process id of who sent it, for the log. */
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

/** Parses a message; undefined: it is not ours. */
export function readMessage(text: string): ReloadMessage | undefined {
  // More than this is no message of ours.
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
