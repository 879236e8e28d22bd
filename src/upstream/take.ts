import { type Json, parse, stringify } from '../json/index.ts'
import { type Message, readMessage } from '../mcp/index.ts'

/** Reads a text of a server as messages, each with its text on one line; nothing when it is not JSON. */
export function readTexts(text: string): { message: Message; text: string }[] {
  let value: Json
  try {
    value = parse(text)
  } catch {
    return []
  }
  if (Array.isArray(value))
    return value.map((item) => ({ message: readMessage(item), text: stringify(item) }))
  return [{ message: readMessage(value), text: text.trim() }]
}
