import { createRequire } from 'node:module'
import { pipeline, type Transform } from 'node:stream'
import { NetFault } from './faults.ts'

/** Loaded at the first encoded answer. */
const zlib = () => createRequire(import.meta.url)('node:zlib') as typeof import('node:zlib')
/** Emits flushed data at once, so that no event waits for the next one. */
const flushed = () => ({ flush: zlib().constants.Z_SYNC_FLUSH })

/** Encodings for `Accept-Encoding`. */
export const ENCODINGS = 'gzip, deflate, br'

/** Creates the decoder of an encoding from the first bytes of a body. */
const DECODERS: Readonly<Record<string, (first: Buffer) => Transform>> = {
  gzip: () => zlib().createGunzip(flushed()),
  'x-gzip': () => zlib().createGunzip(flushed()),
  // Some servers send raw deflate data under this name.
  deflate: (first) =>
    ((first[0] ?? ZLIB) & 15) === ZLIB ? zlib().createInflate(flushed()) : zlib().createInflateRaw(flushed()),
  br: () => zlib().createBrotliDecompress(),
}
/** Names that servers send for a body without encoding. Only the first one is standard. */
const PLAIN = new Set([
  'identity',
  '',
  'none',
  'utf-8',
  'utf8',
  'iso-8859-1',
  'binary',
  '8bit',
  'aws-chunked',
])
/** The low bits of the first byte of zlib data (RFC 1950). */
const ZLIB = 8

/**
 * The encodings of a body, in the order of their decoding.
 * @param header `Content-Encoding`
 * @param origin for the fault
 * @throws NetFault for an unsupported encoding
 */
export function encodingsOf(header: string | string[], origin: string): string[] {
  const names = String(header)
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !PLAIN.has(name))
    .reverse()
  const wrong = names.length > 3 ? names[0] : names.find((name) => !Object.hasOwn(DECODERS, name))
  if (wrong === undefined) return names
  const shown = wrong.slice(0, 40)
  throw new NetFault('encoding', origin, `${origin} sent an unsupported content encoding: ${shown}`)
}

/** Decodes a body in pieces. */
export interface Decoder {
  readonly input: Transform
  readonly output: Transform
}

/**
 * Creates a decoder of a body.
 * @param first its first bytes, which the caller still has to write to `input`
 * @param origin for the fault
 * @param onFault called if the body is damaged
 */
export function createDecoder(
  encodings: readonly string[],
  first: Buffer,
  origin: string,
  onFault: (fault: NetFault) => void,
): Decoder {
  const layers = encodings.map((name, i) => DECODERS[name]!(i === 0 ? first : Buffer.of()))
  const [input, output] = [layers[0]!, layers.at(-1)!]
  for (const [i, layer] of layers.entries())
    layer.on('error', () => {
      const clause = `the response of ${origin} is not valid ${encodings[i]} data`
      onFault(new NetFault('encoding', origin, clause))
    })
  // The end of one layer ends the others. Each layer reports its own faults.
  if (layers.length > 1) pipeline(layers, () => {})
  return { input, output }
}
