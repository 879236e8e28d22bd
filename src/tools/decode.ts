import { isUtf8 } from 'node:buffer'
import { promisify } from 'node:util'
import type { Hold } from '../access/memory.ts'
import { parse } from '../json/index.ts'
import { sizeText } from '../text/index.ts'
import { isJsonType } from './body.ts'
import { type Answer, noRoom } from './exchange.ts'
import { CallError, errorCode } from './failure.ts'
import type { ReadAnswer } from './response.ts'
import { lazy } from './values.ts'

type Decoder = (data: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

/** Loaded for the first answer that wants it. */
const decoders = lazy(async (): Promise<Record<string, Decoder>> => {
  const zlib = await import('node:zlib')
  const [gunzip, inflate, inflateRaw] = [zlib.gunzip, zlib.inflate, zlib.inflateRaw].map(
    (decode): Decoder => promisify(decode),
  ) as [Decoder, Decoder, Decoder]
  return {
    gzip: gunzip,
    'x-gzip': gunzip,
    br: promisify(zlib.brotliDecompress),
    // Some servers send raw deflate data under this name.
    deflate: (data, options) => inflate(data, options).catch(() => inflateRaw(data, options)),
  }
})
/** More encodings one over another than anyone sends. */
const MAX_LAYERS = 3

/**
 * Undoes `Content-Encoding`, which nobody asked for but upstreams send; the result is held to the same limit as
 * the answer, against bodies made to explode.
 * @throws CallError
 */
export async function decodeAnswer(
  answer: Answer,
  maxResponseSize: number,
  origin: string,
  hold?: Hold,
): Promise<Answer> {
  const header = answer.headers['content-encoding']
  if (header === undefined || answer.body.length === 0) return answer
  const layers = String(header)
    .toLowerCase()
    .split(',')
    .map((layer) => layer.trim())
    .filter((layer) => layer !== '' && layer !== 'identity')
  const known = await decoders()
  let { body } = answer
  for (const layer of layers.reverse()) {
    const decode = Object.hasOwn(known, layer) && layers.length <= MAX_LAYERS ? known[layer] : undefined
    if (!decode)
      throw new CallError(
        'encoding',
        `${origin} sent its answer in an encoding that is not supported: ${layer.slice(0, 40)}.`,
      )
    try {
      body = await decode(body, { maxOutputLength: maxResponseSize })
    } catch (error) {
      if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE')
        throw new CallError(
          'too-large',
          `The answer of ${origin} is larger than the limit of ${sizeText(maxResponseSize)} (maxResponseSize) once decompressed.`,
        )
      throw new CallError('encoding', `${origin} sent an answer that is damaged: it is not ${layer} data.`)
    }
    if (hold && !hold.add(body.length)) throw noRoom(origin)
  }
  const { 'content-encoding': _, 'content-length': __, ...headers } = answer.headers
  return { ...answer, headers, body }
}

/** What an answer's body is. */
export type Kind = 'json' | 'text' | 'image' | 'audio' | 'binary'

export interface Typed extends ReadAnswer {
  kind: Kind
  /** Media type in lower case, without parameters. */
  mediaType: string
}

const TEXT_TYPE =
  /^(?:text\/.*|multipart\/.*|message\/.*|.*\+(?:xml|yaml|json-seq)|application\/(?:xml|yaml|x-yaml|toml|javascript|ecmascript|x-javascript|typescript|graphql|sql|x-sh|x-www-form-urlencoded|(?:x-)?ndjson|jsonl|jsonlines|json-seq|json5|xhtml|x-httpd-php|pem-certificate-chain|ld-json))$/

/** Reads an answer by its media type; text and JSON are made when they are asked for, once. */
export function readAnswer(answer: Answer): Typed {
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
  if (mediaType.startsWith('image/')) return 'image'
  if (mediaType.startsWith('audio/')) return 'audio'
  if (TEXT_TYPE.test(mediaType)) return 'text'
  if (mediaType === '') return isUtf8(body) && !body.includes(0) ? 'text' : 'binary'
  return charset !== undefined ? 'text' : 'binary'
}

/** JSON is UTF-8 whatever a server calls it (RFC 8259 §8.1), unless its bytes are not. */
function jsonCharset(body: Buffer, charset: string | undefined): string | undefined {
  return isUtf8(body) && !body.includes(0) ? undefined : charset
}

/** By charset, UTF-8 without one; bytes that do not fit become U+FFFD. A byte order mark is left out. */
function decodeText(body: Buffer, charset: string | undefined): string {
  if (charset === undefined || /^utf-?8$/i.test(charset)) {
    const text = body.toString('utf8')
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  }
  try {
    const decoder = new TextDecoder(charset)
    return decoder.encoding === 'windows-1252' ? decodeWindows1252(body) : decoder.decode(body)
  } catch {
    return new TextDecoder().decode(body)
  }
}

/** 0x80 to 0x9F; Node 20 decodes the whole encoding as ISO-8859-1, which has control characters there. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** The UTF-16 unit of each byte. */
const UNITS = Uint16Array.from({ length: 256 }, (_, byte) =>
  byte >> 5 === 4 ? WINDOWS_1252.charCodeAt(byte - 0x80) : byte,
)

function decodeWindows1252(body: Buffer): string {
  const units = new Uint16Array(body.length)
  for (let at = 0; at < body.length; at++) units[at] = UNITS[body[at]!]!
  return Buffer.from(units.buffer).toString('utf16le')
}
