/**
 * Go strings are bytes. Here they are JavaScript strings in which a byte outside valid UTF-8 is the lone surrogate
 * U+DC00 + byte.
 */
const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const NON_ASCII = /[^\x00-\x7f]/
const SURROGATE = /[\ud800-\udfff]/
const LONE = /\p{Surrogate}/u
const LONES = /\p{Surrogate}/gu

/** The UTF-8 bytes; a lone surrogate that represents no byte becomes U+FFFD. */
export function toBytes(text: string): Uint8Array {
  if (!SURROGATE.test(text) || !LONE.test(text)) return encoder.encode(text)
  const bytes = Buffer.allocUnsafe(3 * text.length)
  let size = 0
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0xd800 || unit > 0xdfff) continue
    if (unit < 0xdc00 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) at++
    else if (unit >= 0xdc80 && unit <= 0xdcff) {
      if (from < at) size += bytes.write(text.slice(from, at), size)
      bytes[size++] = unit - 0xdc00
      from = at + 1
    }
  }
  // Node writes remaining lone surrogates as U+FFFD.
  if (from < text.length) size += bytes.write(text.slice(from), size)
  return bytes.subarray(0, size)
}

export function fromBytes(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    return decodeLoosely(bytes)
  }
}

function decodeLoosely(bytes: Uint8Array): string {
  const units = new Uint16Array(bytes.length)
  let size = 0
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes, at)
    if (length === 0) units[size++] = 0xdc00 + bytes[at]!
    else {
      let code = length === 1 ? bytes[at]! : bytes[at]! & (0x7f >> length)
      for (let next = at + 1; next < at + length; next++) code = (code << 6) | (bytes[next]! & 0x3f)
      if (code > 0xffff) {
        units[size++] = 0xd7c0 + (code >> 10)
        code = 0xdc00 | (code & 0x3ff)
      }
      units[size++] = code
    }
    at += length || 1
  }
  return Buffer.from(units.buffer, 0, 2 * size).toString('utf16le')
}

/** Length of the UTF-8 sequence at this position; 0 if invalid. By table 3-7 of the Unicode Standard. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!
  if (first < 0x80) return 1
  if (first < 0xc2 || first > 0xf4) return 0
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  if (at + length > bytes.length) return 0
  const second = bytes[at + 1]!
  if (second < (first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80)) return 0
  if (second > (first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf)) return 0
  for (let next = at + 2; next < at + length; next++) if ((bytes[next]! & 0xc0) !== 0x80) return 0
  return length
}

export function byteLength(text: string): number {
  return NON_ASCII.test(text) ? toBytes(text).length : text.length
}

/** The part between two byte offsets. */
export function byteSlice(text: string, from: number, to: number): string {
  return NON_ASCII.test(text) ? fromBytes(toBytes(text).subarray(from, to)) : text.slice(from, to)
}

/** Compares bytes, as Go does. */
export function compareBytes(a: string, b: string): number {
  if (!SURROGATE.test(a) && !SURROGATE.test(b)) return a < b ? -1 : a > b ? 1 : 0
  const end = Math.min(a.length, b.length)
  let at = 0
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++
  // They may differ in the second half of a surrogate pair.
  if (at > 0 && isHighSurrogate(a.charCodeAt(at - 1))) at--
  const [left, right] = [a.codePointAt(at) ?? -1, b.codePointAt(at) ?? -1]
  if (!isSurrogate(left) && !isSurrogate(right)) return left - right
  return Buffer.compare(toBytes(a.slice(at)), toBytes(b.slice(at)))
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

export function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff
}

/** The text as valid Unicode: bytes that form a character are joined, others become U+FFFD. */
export function wellFormed(text: string): string {
  if (!hasLoneSurrogate(text)) return text
  return fromBytes(toBytes(text)).replace(LONES, '\ufffd')
}

/** The keys of an object in Go's order. */
export function sortedKeys(object: object): string[] {
  return sortKeys(Object.keys(object))
}

/** Sorts in place. */
export function sortKeys(keys: string[]): string[] {
  if (keys.length < 2) return keys
  // Without surrogates, UTF-16 order equals byte order.
  return keys.some((key) => SURROGATE.test(key)) ? keys.sort(compareBytes) : keys.sort()
}

/** The text with U+FFFD for each lone surrogate, as encoded in UTF-8. */
export function withoutLone(text: string): string {
  return SURROGATE.test(text) ? text.replace(LONES, '\ufffd') : text
}

export function hasLoneSurrogate(text: string): boolean {
  return SURROGATE.test(text) && LONE.test(text)
}
