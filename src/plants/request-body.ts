import type { HonoRequest } from 'hono'
import { ExactNumber, type Json, JsonLimitError, parse } from '../json/index.ts'
import { int64OfJson } from './int64.ts'
import type { NewPlant } from './store.ts'

/** The largest body of a request in bytes. */
export const MAX_BODY = 1024 * 1024

/** Why a request is refused: an HTTP status and a sentence for its Error body. */
export class Refusal {
  constructor(
    readonly status: 400 | 404 | 413 | 415,
    readonly message: string,
  ) {}
}

/** Reads the body of a create. Never throws. */
export async function readNewPlant(request: HonoRequest): Promise<NewPlant | Refusal> {
  const type = request.header('content-type')
  if (!isJson(type))
    return new Refusal(415, 'The content type must be application/json, in UTF-8 where it names a charset.')
  const coding = request.header('content-encoding') ?? 'identity'
  if (coding.toLowerCase() !== 'identity')
    return new Refusal(415, 'The body must not be compressed: content codings are not supported.')
  const bytes = await readBytes(request)
  return bytes instanceof Refusal ? bytes : parseNewPlant(bytes)
}

/** Parses a create's body to a plant, or an error. Unknown properties are ignored. */
export function parseNewPlant(bytes: Uint8Array): NewPlant | Refusal {
  let text: string
  let body: Json
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new Refusal(400, 'The body is not valid UTF-8.')
  }
  try {
    body = parse(text)
  } catch (error) {
    const { message } = error as Error
    if (error instanceof JsonLimitError) return new Refusal(400, `The body is not accepted: ${message}.`)
    return new Refusal(400, `The body is not JSON: ${message}.`)
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body) || body instanceof ExactNumber)
    return new Refusal(400, 'The body must be a JSON object.')
  const own = (name: string): Json | undefined => (Object.hasOwn(body, name) ? body[name] : undefined)
  const name = own('name')
  if (name === undefined) return new Refusal(400, 'The field "name" is required.')
  if (typeof name !== 'string') return new Refusal(400, 'The field "name" must be a string.')
  const tag = own('tag')
  if (tag !== undefined && typeof tag !== 'string')
    return new Refusal(400, 'The field "tag" must be a string, or be left out.')
  const given = own('id')
  if (given === undefined) return new Refusal(400, 'The field "id" is required.')
  const id = int64OfJson(given)
  if (typeof id === 'string') return new Refusal(400, `The field "id" ${id}.`)
  return tag === undefined ? { id, name } : { id, name, tag }
}

/** Whether a value of `Content-Type` is application/json; a charset, if any, must be UTF-8. */
function isJson(type: string | undefined): boolean {
  const [essence = '', ...parameters] = (type ?? '').toLowerCase().split(';')
  if (essence.trim() !== 'application/json') return false
  return parameters.every((parameter) => {
    const [name = '', value = ''] = parameter.split('=')
    return name.trim() !== 'charset' || /^"?utf-?8"?$/.test(value.trim())
  })
}

async function readBytes(request: HonoRequest): Promise<Uint8Array | Refusal> {
  const tooLarge = new Refusal(413, `The body is larger than ${MAX_BODY} bytes.`)
  if (Number(request.header('content-length') ?? 0) > MAX_BODY) return tooLarge
  const pieces: Uint8Array[] = []
  let size = 0
  try {
    // Leaving the loop cancels the stream, so nothing beyond the limit is kept.
    for await (const piece of request.raw.body ?? []) {
      size += piece.byteLength
      if (size > MAX_BODY) return tooLarge
      pieces.push(piece)
    }
  } catch {
    return new Refusal(400, 'The body ended before it was complete.')
  }
  return Buffer.concat(pieces)
}
