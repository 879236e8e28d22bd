import { withoutHidden } from '../text/index.ts'

/**
 * The readable message in the body of a refusal, on one line of at most 500 characters: from a JSON-RPC error, an OAuth
 * error, a problem (RFC 9457) or another JSON object; the title of a page; otherwise the text itself.
 * @returns undefined without a message
 */
export function serverMessage(body: string): string | undefined {
  const text = inJson(body) ?? (isPage(body) ? pageText(body) : body)
  // Control characters could change other parts of a terminal.
  const line = withoutHidden(text).replace(/\s+/g, ' ').trim().replace(/\.$/, '')
  if (line === '') return undefined
  return line.length > 500 ? `${line.slice(0, 500)}…` : line
}

/** The message in a JSON object; the empty text if it has none, undefined if the text is no JSON object. */
function inJson(body: string): string | undefined {
  try {
    const value = JSON.parse(body)
    if (typeof value !== 'object' || value === null) return undefined
    const { error, message, error_description, detail, title } = value
    const said = [error?.message, message, error_description, detail, title, error]
    return said.find((one) => typeof one === 'string' && one !== '') ?? ''
  } catch {
    return undefined
  }
}

function isPage(body: string): boolean {
  return /^\s*<(?:!doctype|html|head|body|title|h1)\b/i.test(body)
}

function pageText(body: string): string {
  const start = body.slice(0, 16_384)
  const title = /<title[^<>]*>([^<]*)/i.exec(start)?.[1]
  return title?.trim() || start.replace(/<[^<>]*>/g, ' ')
}
