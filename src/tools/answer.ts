import { isUtf8 } from 'node:buffer'
import { type Json, parse } from '../json/index.ts'
import type { HttpAnswer } from '../net/index.ts'
import { isJsonType, lazy } from '../text/index.ts'

/** Kind of an answer's body. */
type Kind = 'json' | 'text' | 'image' | 'audio' | 'binary'

/** An upstream's answer as templates and results read it. */
export interface ReadAnswer {
  answer: HttpAnswer
  kind: Kind
  /** Media type in lower case, without parameters. */
  mediaType: string
  text(): string
  /** The body as JSON; undefined if empty. @throws SyntaxError */
  data(): Json | undefined
}

const TEXT_TYPE =
  /^(?:text\/.*|multipart\/.*|message\/.*|.*\+(?:xml|yaml|json-seq)|application\/(?:xml|yaml|x-yaml|toml|javascript|ecmascript|x-javascript|typescript|graphql|sql|x-sh|x-www-form-urlencoded|(?:x-)?ndjson|jsonl|jsonlines|json-seq|json5|xhtml|x-httpd-php|pem-certificate-chain|ld-json))$/

/** Whether a body of this media type (in lower case) is binary. */
export function isBytesType(mediaType: string): boolean {
  return mediaType.includes('/') && !isJsonType(mediaType) && !TEXT_TYPE.test(mediaType)
}

/** Reads an answer by its media type; text and JSON are computed on first use. */
export function readAnswer(answer: HttpAnswer): ReadAnswer {
  const header = String(answer.headers['content-type'] ?? '')
  const semicolon = header.indexOf(';')
  const declared = (semicolon < 0 ? header : header.slice(0, semicolon)).trim().toLowerCase()
  const charset = semicolon < 0 ? undefined : /;\s*charset\s*=\s*"?([^\s";]{1,40})/i.exec(header)?.[1]
  const kind = kindOf(declared, charset, answer.body)
  const mediaType = declared || (kind === 'text' ? 'text/plain' : 'application/octet-stream')
  const text = lazy(() =>
    decodeText(answer.body, kind === 'json' ? jsonCharset(answer.body, charset) : charset),
  )
  const data = lazy(() => (text() === '' ? undefined : parse(text())))
  return { answer, kind, mediaType, text, data }
}

function kindOf(mediaType: string, charset: string | undefined, body: Buffer): Kind {
  if (isJsonType(mediaType)) return 'json'
  // An SVG is text; a compressed one is not.
  if (mediaType === 'image/svg+xml') return charset !== undefined || isUtf8(body) ? 'text' : 'binary'
  if (mediaType.startsWith('image/')) return 'image'
  if (mediaType.startsWith('audio/')) return 'audio'
  if (TEXT_TYPE.test(mediaType)) return 'text'
  if (mediaType === '') return isUtf8(body) && !body.includes(0) ? 'text' : 'binary'
  return charset !== undefined ? 'text' : 'binary'
}

/** JSON is UTF-8 whatever the header says (RFC 8259 §8.1), unless its bytes are not. */
function jsonCharset(body: Buffer, charset: string | undefined): string | undefined {
  return isUtf8(body) && !body.includes(0) ? undefined : charset
}

/** Decodes by charset, UTF-8 by default; invalid bytes become U+FFFD. A byte order mark is removed. */
function decodeText(body: Buffer, charset: string | undefined): string {
  if (charset === undefined || /^utf-?8$/i.test(charset)) {
    const text = body.toString('utf8')
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  }
  try {
    const decoder = new TextDecoder(charset)
    // Without streaming, Node 20 decodes windows-1252 as ISO-8859-1, which has control characters at 0x80 to 0x9F.
    return decoder.decode(body, { stream: true }) + decoder.decode()
  } catch {
    return new TextDecoder().decode(body)
  }
}
