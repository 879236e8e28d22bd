import { closingQuote, numberEnd } from '../../json/index.ts'
import type { RequestId } from '../../mcp/index.ts'

/** What can be known of a JSON-RPC message that is not parsed. */
export interface Head {
  /** The last of its ids. */
  id: RequestId | undefined
  /** Whether it is a request or a notification. */
  method: boolean
}

/** Messages that are looked for at the most. */
const MAX_HEADS = 100
/** Characters of an id, escapes included. */
const MAX_ID = 2_000

/** The heads of the messages in a text that exceeds the limits of JSON: one pass, of any depth. */
export function headsOf(text: string): Head[] {
  const heads: Head[] = []
  /** Depth of the objects that are messages: 2 in a batch. */
  let base = 0
  let depth = 0
  let key = ''
  for (let i = 0; i < text.length; i++) {
    const c = text[i]
    if (c === '"') {
      const end = closingQuote(text, i + 1)
      if (depth === base) key = text.slice(i + 1, Math.min(end, i + 10))
      i = end
    } else if (c === '{' || c === '[') {
      depth++
      base ||= c === '{' ? 1 : 2
      if (depth === base && heads.push({ id: undefined, method: false }) > MAX_HEADS) return heads
    } else if (c === '}' || c === ']') depth--
    else if (c === ':' && depth === base) {
      const head = heads.at(-1)
      if (head && key === 'method') head.method = true
      if (head && key === 'id') head.id = idAt(text, i + 1)
    }
  }
  return heads
}

function idAt(text: string, from: number): RequestId | undefined {
  let start = from
  while (/\s/.test(text[start] ?? '')) start++
  const end = text[start] === '"' ? closingQuote(text, start + 1) + 1 : numberEnd(text, start)
  if (end - start > MAX_ID) return undefined
  try {
    return JSON.parse(text.slice(start, end))
  } catch {
    return undefined
  }
}
