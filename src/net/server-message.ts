import { withoutHidden } from '../text/index.ts'

/**
 * The message for people in the body of a refusal: of a JSON-RPC error, an OAuth error, a problem (RFC 9457) or
 * another JSON object; the title of a page; or else the text itself, on one line.
 * @returns undefined if it has none
 */
export function serverMessage(body: string): string | undefined {
  const text = inJson(body) ?? (isPage(body) ? pageText(body) : body)
  // Control characters could change what the terminal shows elsewhere.
  const line = withoutHidden(text).replace(/\s+/g, ' ').trim().replace(/\.$/, '')
  if (line === '') return undefined
  return line.length > 500 ? `${line.slice(0, 500)}…` : line
}

/** The empty text for JSON without a message; undefined for what is no JSON object. */
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
