import { randomUUID } from 'node:crypto'
import { isObject, type Json } from '../json/index.ts'
import { valueText } from './argument-text.ts'
import { CallError } from './failure.ts'

/** One part of a multipart/form-data body; a file when it has a filename. */
interface Part {
  name: string
  filename?: string
  contentType?: string
  data: string | Buffer
}

const MEDIA_TYPE =
  /^[!#$%&'*+.^_`|~\w-]{1,127}\/[!#$%&'*+.^_`|~\w-]{1,127}(?: ?; ?[!#$%&'*+.^_`|~\w-]{1,64}=(?:[!#$%&'*+.^_`|~\w-]{1,127}|"[\x20!#-[\]-~]{0,127}"))*$/
/** RFC 2397: media type, parameters, `;base64`. */
const DATA_URI = /^data:([^,;\s]{0,255})((?:;[^,;]{0,255}){0,8}),/i

/** The parts of an argument, one for each array item. @throws CallError */
export function* argParts(name: string, value: Json): Generator<Part> {
  if (Array.isArray(value)) for (const item of value) yield part(name, item)
  else yield part(name, value)
}

function part(name: string, value: Json): Part {
  if (typeof value === 'string') return dataUri(name, value) ?? { name, data: value }
  if (isFile(value)) {
    const contentType = value.contentType ?? 'application/octet-stream'
    return file(name, value.filename ?? name, contentType, base64(name, value.data))
  }
  if (typeof value === 'object' && value !== null)
    return { name, contentType: 'application/json', data: valueText(value) }
  return { name, data: valueText(value) }
}

const FILE_KEYS = new Set(['filename', 'contentType', 'data'])

function isFile(value: Json): value is { filename?: string; contentType?: string; data: string } {
  return (
    isObject(value) &&
    typeof value.data === 'string' &&
    Object.entries(value).every(([key, member]) => FILE_KEYS.has(key) && typeof member === 'string')
  )
}

/** Undefined for text other than a data: URI. */
function dataUri(name: string, text: string): Part | undefined {
  const match = DATA_URI.exec(text)
  if (!match) return undefined
  const parameters = match[2]!.split(';').slice(1)
  const encoded = parameters.at(-1)?.trim().toLowerCase() === 'base64'
  if (encoded) parameters.pop()
  const rest = text.slice(match[0].length)
  const filename = parameters.find((each) => /^(?:file)?name=/i.test(each))
  const others = parameters.filter((each) => each !== filename).map((each) => `;${each.trim()}`)
  const contentType = (match[1]!.trim() || 'text/plain') + others.join('')
  if (!MEDIA_TYPE.test(contentType)) return undefined
  const data = encoded ? base64(name, percentDecode(rest).toString('latin1')) : percentDecode(rest)
  const shown = filename ? percentDecode(filename.slice(filename.indexOf('=') + 1)).toString() : name
  return file(name, shown, contentType, data)
}

function file(name: string, filename: string, contentType: string, data: Buffer): Part {
  if (!MEDIA_TYPE.test(contentType))
    throw new CallError(
      'arguments',
      `\`${name}\`: the content type of the file must be a media type such as image/png. No request was sent.`,
    )
  return { name, filename, contentType, data }
}

/** The bytes of a Base64 text or `data:` URI. @throws CallError */
export function bytesOf(name: string, text: string): Buffer {
  const { data } = dataUri(name, text) ?? {}
  return typeof data === 'object' ? data : base64(name, text)
}

function base64(name: string, text: string): Buffer {
  const compact = /[^\x00-\x7f]/.test(text) ? text.replace(/[\s=]+/g, '') : significant(text)
  if (!/^[\w+/-]*$/.test(compact) || compact.length % 4 === 1)
    throw new CallError('arguments', `\`${name}\`: the data of the file must be base64. No request was sent.`)
  return Buffer.from(compact, 'base64')
}

/** The text without white space and padding. */
function significant(text: string): string {
  if (!/[\s=]/.test(text)) return text
  const bytes = Buffer.from(text)
  let size = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    const left = byte === 61 || byte === 32 || (byte >= 9 && byte <= 13)
    if (!left) bytes[size++] = byte
  }
  return bytes.toString('latin1', 0, size)
}

/** WHATWG URL percent-decoding: invalid escapes stay unchanged. */
function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text)
  let length = 0
  for (let i = 0; i < bytes.length; i++) {
    const value = bytes[i] === 37 ? 16 * hexDigit(bytes[i + 1]) + hexDigit(bytes[i + 2]) : Number.NaN
    const escaped = !Number.isNaN(value)
    bytes[length++] = escaped ? value : bytes[i]!
    if (escaped) i += 2
  }
  return bytes.subarray(0, length)
}

/** Value of a hexadecimal digit by its code; NaN for other characters. */
function hexDigit(code = 0): number {
  if (code >= 48 && code <= 57) return code - 48
  const letter = code | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : Number.NaN
}

/** Writes WHATWG HTML multipart/form-data; values are inserted unchanged. */
export class PartWriter {
  /** Unguessable, so that no value can contain it. */
  private readonly boundary = `plantgw-${randomUUID()}`
  private readonly chunks: Buffer[] = []
  private size = 0
  /** Text not yet in a chunk, as many small chunks would be slow. */
  private text = ''

  /** @returns minimum number of bytes so far */
  write({ name, filename, contentType, data }: Part): number {
    let head = `--${this.boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"`
    if (filename !== undefined) head += `; filename="${escapeFilename(filename)}"`
    if (contentType !== undefined) head += `\r\nContent-Type: ${contentType}`
    this.text += `${head}\r\n\r\n`
    if (typeof data === 'string') this.text += data
    else {
      this.flush()
      this.chunks.push(data)
    }
    this.text += '\r\n'
    this.size += head.length + data.length + 6
    return this.size
  }

  end(): { body: Buffer; contentType: string } {
    this.text += `--${this.boundary}--\r\n`
    this.flush()
    return { body: Buffer.concat(this.chunks), contentType: `multipart/form-data; boundary=${this.boundary}` }
  }

  private flush(): void {
    if (this.text !== '') this.chunks.push(Buffer.from(this.text))
    this.text = ''
  }
}

/** The escapes of WHATWG HTML for file names; in names, line breaks become CRLF. */
function escapeFilename(name: string): string {
  return name.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22').replaceAll('\0', '%00')
}

function escapeName(name: string): string {
  return escapeFilename(name.replace(/\r\n|\r|\n/g, '\r\n'))
}
