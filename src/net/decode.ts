import { promisify } from 'node:util'
import { errorCode, NetFault } from './faults.ts'
import type { ByteHold, HttpAnswer } from './types.ts'

type Decoder = (data: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

let loaded: Promise<Record<string, Decoder>> | undefined

/** Loaded for the first answer that is encoded. */
async function load(): Promise<Record<string, Decoder>> {
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
}

/** More encodings one over another than anyone sends. */
const MAX_LAYERS = 3

/**
 * Undoes `Content-Encoding`, which no request asks for but servers send all the same; the result is held to the limit of
 * the answer, against bodies made to explode.
 * @param maxSize bytes
 * @throws NetFault
 */
export async function decodeAnswer(
  answer: HttpAnswer,
  maxSize: number,
  origin: string,
  hold?: ByteHold,
): Promise<HttpAnswer> {
  const header = answer.headers['content-encoding']
  if (header === undefined || answer.body.length === 0) return answer
  const layers = String(header)
    .toLowerCase()
    .split(',')
    .map((layer) => layer.trim())
    .filter((layer) => layer !== '' && layer !== 'identity')
  loaded ??= load()
  const known = await loaded
  let { body } = answer
  for (const layer of layers.reverse()) {
    const decode = Object.hasOwn(known, layer) && layers.length <= MAX_LAYERS ? known[layer] : undefined
    if (!decode)
      throw new NetFault(
        'encoding',
        origin,
        `${origin} sent an unsupported content encoding: ${layer.slice(0, 40)}`,
      )
    try {
      body = await decode(body, { maxOutputLength: maxSize })
    } catch (error) {
      if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') throw NetFault.of('too-large', origin)
      throw new NetFault('encoding', origin, `the response of ${origin} is not valid ${layer} data`)
    }
    if (hold && !hold.add(body.length)) throw NetFault.of('no-room', origin)
  }
  const { 'content-encoding': _, 'content-length': __, ...headers } = answer.headers
  return { ...answer, headers, body }
}
