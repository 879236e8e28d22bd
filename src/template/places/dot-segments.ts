/**
 * How often a path is decoded for checking: a value is percent-encoded once in a URL, and chained servers may decode
 * its content twice more.
 */
const DECODINGS = 3

/** Characters that some servers read as others, as UTF-8 bytes: full-width forms, and look-alikes of slash and dot. */
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
/** Overlong ASCII, which UTF-8 forbids and lax decoders accept: `%c0%ae`, `%e0%80%ae`. */
const OVERLONG = /(?:[\xc0\xc1]|(?:\xe0|\xf0\x80|\xf8\x80\x80|\xfc\x80\x80\x80)[\x80\x81])[\x80-\xbf]/g
/**
 * Characters dropped by URL parsers, decoders and file systems: white space, control characters, zero-width characters,
 * and bytes of invalid UTF-8, here U+FFFD.
 */
const DROPPED = /[\x01-\x20\x7f-\xa0\xad\s\u200b-\u200f\u2028-\u202f\u2060\ufffd]/g

/**
 * Whether part of a URL's path contains a segment `.` or `..` for a server that decodes it up to three times before
 * resolving it, as nginx does once. Segments end at `/` and `\`, at `;` (path parameters of Tomcat), `?`, `#` and NUL.
 * Linear in time.
 */
export function hasDotSegment(path: string): boolean {
  if (!/[.%]|[^\x00-\x7f]/.test(path)) return false
  const bytes = decoded(path)
  if (!bytes.includes('.')) return false
  const segments = Buffer.from(bytes, 'latin1').toString().split(/[/\\]/)
  return segments.some(
    (segment) =>
      segment.includes('.') && /^\.\.?$/.test(segment.replace(DROPPED, '').replace(/[;?#\0].*/s, '')),
  )
}

/** Whether a text contains `/` or `\`, also after up to three decodings. */
export function hasSlash(text: string): boolean {
  return /[/\\%]|[^\x00-\x7f]/.test(text) && /[/\\]/.test(decoded(text))
}

/** The decoded text, one character for each byte, so that invalid UTF-8 survives each decoding. */
function decoded(text: string): string {
  let bytes = folded(Buffer.from(text).toString('latin1'))
  for (let i = 0; i < DECODINGS && bytes.includes('%'); i++) bytes = folded(percentDecoded(bytes))
  return bytes
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

/** Decodes `%2e`, and `%u002e` as IIS and some libraries do; other text stays. */
function percentDecoded(bytes: string): string {
  return bytes.replace(/%(?:u([\da-f]{4})|([\da-f]{2}))/gi, (_, wide?: string, byte?: string) => {
    if (byte !== undefined) return String.fromCharCode(Number.parseInt(byte, 16))
    return Buffer.from(String.fromCharCode(Number.parseInt(wide!, 16))).toString('latin1')
  })
}
