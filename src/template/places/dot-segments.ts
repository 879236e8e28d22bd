/**
 * Decodings until which a path is judged: a value is percent-encoded once on its way into a URL, and servers in a row
 * may decode what it held twice more.
 */
const DECODINGS = 3

/** What some servers read as another character, as its UTF-8 bytes: full-width forms and look-alikes of slash and dot. */
const FOLDED = new Map<string, string>()
for (let code = 0x21; code <= 0x7e; code++)
  fold(String.fromCodePoint(code + 0xfee0), String.fromCharCode(code))
for (const char of '\u2024\ufe52') fold(char, '.')
for (const char of '\u2025\ufe30') fold(char, '..')
for (const char of '\u2044\u2215') fold(char, '/')
for (const char of '\u2216\u29f5\ufe68\u00a5\u20a9') fold(char, '\\')
fold('\ufe6a', '%')
fold('\ufe54', ';')

function fold(from: string, to: string): void {
  FOLDED.set(Buffer.from(from).toString('latin1'), to)
}

const FOLDABLE =
  /\xef\xbc[\x81-\xbf]|\xef\xbd[\x80-\x9e]|\xe2\x80[\xa4\xa5]|\xe2\x81\x84|\xe2\x88[\x95\x96]|\xe2\xa7\xb5|\xe2\x82\xa9|\xef\xb8\xb0|\xef\xb9[\x92\x94\xa8\xaa]|\xc2\xa5/g
/** ASCII in more bytes than it needs, which UTF-8 forbids and lax decoders read: `%c0%ae`, `%e0%80%ae`. */
const OVERLONG = /(?:[\xc0\xc1]|(?:\xe0|\xf0\x80|\xf8\x80\x80|\xfc\x80\x80\x80)[\x80\x81])[\x80-\xbf]/g
/** What URL parsers and file systems drop: white space, control characters and what has no width. */
const DROPPED =
  /[\x01-\x20\x7f]|\xc2[\x80-\xa0\xad]|\xe2\x80[\x8b-\x8f\xa8-\xaf]|\xe2\x81\xa0|\xe3\x80\x80|\xef\xbb\xbf/g

/**
 * Whether a part of a URL's path holds a segment `.` or `..` for a server that decodes it up to three times before it
 * resolves the path, as nginx does once. Segments end at `/` and `\`, and at `;`, behind which Tomcat expects parameters,
 * `?`, `#` and NUL. Linear in time.
 */
export function hasDotSegment(path: string): boolean {
  if (!/[.%]|[^\x00-\x7f]/.test(path)) return false
  // One character for each byte, as broken UTF-8 must stay what it is from one decoding to the next.
  let bytes = folded(Buffer.from(path).toString('latin1'))
  for (let i = 0; i < DECODINGS && bytes.includes('%'); i++) bytes = folded(percentDecoded(bytes))
  for (let at = bytes.indexOf('.'); at >= 0; ) {
    const end = segmentEnd(bytes, at)
    const segment = bytes
      .slice(segmentStart(bytes, at), end)
      .replace(DROPPED, '')
      .replace(/[;?#\0].*/s, '')
    if (segment === '.' || segment === '..') return true
    at = bytes.indexOf('.', end)
  }
  return false
}

function segmentStart(bytes: string, at: number): number {
  let start = at
  while (start > 0 && !isSlash(bytes.charCodeAt(start - 1))) start--
  return start
}

function segmentEnd(bytes: string, at: number): number {
  let end = at
  while (end < bytes.length && !isSlash(bytes.charCodeAt(end))) end++
  return end
}

function isSlash(code: number): boolean {
  return code === 0x2f || code === 0x5c
}

function folded(bytes: string): string {
  if (!/[\x80-\xff]/.test(bytes)) return bytes
  return bytes
    .replace(OVERLONG, (long) => {
      const [high, low] = [long.charCodeAt(long.length - 2) & 1, long.charCodeAt(long.length - 1) & 0x3f]
      return String.fromCharCode((high << 6) | low)
    })
    .replace(/\xc0(?=[./\\])/g, '')
    .replace(/\xc1\x1c/g, '\\')
    .replace(FOLDABLE, (char) => FOLDED.get(char)!)
}

/** `%2e`, and `%u002e` as IIS and some libraries read it; anything else stays. */
function percentDecoded(bytes: string): string {
  const from = Buffer.from(bytes, 'latin1')
  const to = Buffer.allocUnsafe(from.length)
  let size = 0
  for (let at = 0; at < from.length; ) {
    const byte = from[at]!
    const wide = byte === 0x25 && (from[at + 1]! | 0x20) === 0x75
    const code = byte === 0x25 ? hexAt(from, wide ? at + 2 : at + 1, wide ? 4 : 2) : -1
    if (code < 0) {
      to[size++] = byte
      at++
      continue
    }
    at += wide ? 6 : 3
    if (wide) size += to.write(String.fromCharCode(code), size)
    else to[size++] = code
  }
  return to.toString('latin1', 0, size)
}

/** The number that these hexadecimal digits write; -1 where they are none. */
function hexAt(bytes: Buffer, from: number, count: number): number {
  let value = 0
  for (let at = from; at < from + count; at++) {
    const digit = HEX[bytes[at] ?? 0]!
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

const HEX = new Int8Array(256).fill(-1)
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  HEX[digit.charCodeAt(0)] = value
  HEX[digit.toUpperCase().charCodeAt(0)] = value
}
