import { createHash, randomInt, randomUUID } from 'node:crypto'
import { posix } from 'node:path'
import { execFault } from '../errors.ts'
import { fromBytes, toBytes, withoutLone } from '../fmt/bytes.ts'
import { own, type Plain } from '../values.ts'
import { newMap } from './convert.ts'
import { define, type FunctionEntry } from './define.ts'

const hash = (algorithm: string) =>
  define(`${algorithm}sum text`, `The ${algorithm.toUpperCase()} sum in hexadecimal digits`, ([text]) =>
    createHash(algorithm).update(toBytes(text)).digest('hex'),
  )

const DIGITS = '0123456789'
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const random = (name: string, what: string, characters: string) =>
  define(`${name} count:int`, `Random ${what}`, ([count], host) => {
    const length = Math.max(0, Number(count))
    host.charge(length)
    return Array.from({ length }, () => characters[randomInt(characters.length)]).join('')
  })

export const encodings: readonly FunctionEntry[] = [
  define('b64enc text', 'Encoded as Base64', ([text]) => Buffer.from(toBytes(text)).toString('base64')),
  define('b64dec text', 'Decoded from Base64', ([text]) => decodeBase64(text)),
  define('b32enc text', 'Encoded as Base32', ([text]) => encodeBase32(text)),
  define('b32dec text', 'Decoded from Base32', ([text]) => decodeBase32(text)),
  hash('sha1'),
  hash('sha256'),
  hash('sha512'),
  define('adler32sum text', 'The Adler-32 sum in decimal digits', ([text]) => adler32(text)),
  define('uuidv4', 'A random UUID', () => randomUUID()),
  random('randAlphaNum', 'letters and digits', LETTERS + DIGITS),
  random('randAlpha', 'letters', LETTERS),
  random('randNumeric', 'digits', DIGITS),
  define('randInt from:int to:int', 'A random integer, at least from and less than to', ([from, to]) => {
    const [low, high] = [Number(from), Number(to)]
    if (!(low < high) || high - low > 2 ** 47) throw execFault('invalid argument to randInt')
    return BigInt(randomInt(low, high))
  }),
  define('base|osBase path', 'The last part of a path', ([path]) => baseName(path)),
  define('dir|osDir path', 'A path without its last part', ([path]) =>
    clean(path.slice(0, path.lastIndexOf('/') + 1)),
  ),
  define('clean|osClean path', 'A path without . and ..', ([path]) => clean(path)),
  define('ext|osExt path', 'The extension of a path', ([path]) => /\.[^./]*$/.exec(path)?.[0] ?? ''),
  define('isAbs|osIsAbs path', 'True for a path that starts with /', ([path]) => path.startsWith('/')),
  define('urlParse url', 'The parts of a URL as an object', ([url]) => parseUrl(url)),
  define('urlJoin parts:map', 'A URL of the parts that urlParse gives', ([parts]) => joinUrl(parts)),
].flat()

function baseName(path: string): string {
  return posix.basename(path) || (path === '' ? '.' : '/')
}

function clean(path: string): string {
  return posix.normalize(path).replace(/(?<=.)\/$/, '')
}

function decodeBase64(value: string): string {
  const compact = value.replace(/[\r\n]/g, '')
  const bad = /[^A-Za-z0-9+/=]|=(?=[^=])/.exec(compact)
  if (bad || compact.length % 4 !== 0)
    return `illegal base64 data at input byte ${bad?.index ?? compact.length}`
  return fromBytes(Buffer.from(compact, 'base64'))
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function encodeBase32(value: string): string {
  const digits = regrouped(toBytes(value), 8, 5)
  const out = Buffer.alloc(Math.ceil(digits.length / 8) * 8, '=')
  for (let at = 0; at < digits.length; at++) out[at] = BASE32.charCodeAt(digits[at]!)
  return out.toString('latin1')
}

const NOT_BASE32 = /[^A-Z2-7]/

function decodeBase32(value: string): string {
  const compact = value.replace(/[\r\n]/g, '')
  let end = compact.length
  while (compact[end - 1] === '=') end--
  const text = compact.slice(0, end)
  const bad = NOT_BASE32.exec(text)
  if (bad) return `illegal base32 data at input byte ${bad.index}`
  const digits = Buffer.from(text)
  for (let at = 0; at < end; at++) digits[at] = digits[at]! - (digits[at]! >= 65 ? 65 : 24)
  return fromBytes(regrouped(digits, 5, 8).subarray(0, (5 * end) >> 3))
}

/** Groups of so many bits, as groups of another number of bits; zeros fill the last one. */
function regrouped(groups: Uint8Array, from: number, to: number): Uint8Array {
  const out = new Uint8Array(Math.ceil((groups.length * from) / to))
  let size = 0
  let bits = 0
  let held = 0
  for (const group of groups) {
    held = ((held << from) | group) & 0xffff
    for (bits += from; bits >= to; bits -= to) out[size++] = (held >> (bits - to)) & (2 ** to - 1)
  }
  if (bits > 0) out[size] = (held << (to - bits)) & (2 ** to - 1)
  return out
}

function adler32(value: string): string {
  let a = 1
  let b = 0
  for (const byte of toBytes(value)) {
    a = (a + byte) % 65521
    b = (b + a) % 65521
  }
  return String(b * 65536 + a)
}

/** Components of Go's url.Parse. */
const URL_PARTS =
  /^(?:([A-Za-z][A-Za-z\d+.-]*):)?(?:\/\/(?:([^/?#@]*)@)?([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s

function parseUrl(url: string): Plain {
  const match = /[\x00-\x1f\x7f]/.test(url) ? null : URL_PARTS.exec(url)
  if (!match) throw execFault('unable to parse url')
  const [, scheme = '', userinfo = '', host = '', path = '', query = '', fragment = ''] = match
  const opaque = scheme !== '' && host === '' && path !== '' && !path.startsWith('/')
  const parts = newMap()
  return Object.assign(parts, {
    scheme: scheme.toLowerCase(),
    userinfo,
    host,
    hostname: host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1'),
    path: opaque ? '' : decoded(path),
    opaque: opaque ? path : '',
    query,
    fragment: decoded(fragment),
  })
}

function decoded(text: string): string {
  if (/%(?![\da-fA-F]{2})/.test(text)) throw execFault('unable to parse url: invalid URL escape')
  if (!text.includes('%')) return text
  const bytes = toBytes(text)
  const out = new Uint8Array(bytes.length)
  let size = 0
  for (let at = 0; at < bytes.length; at++) {
    const escaped = bytes[at] === 0x25
    out[size++] = escaped ? 16 * digit(bytes[at + 1]!) + digit(bytes[at + 2]!) : bytes[at]!
    if (escaped) at += 2
  }
  return fromBytes(out.subarray(0, size))
}

/** Value of a hexadecimal digit. */
function digit(code: number): number {
  return code < 0x3a ? code - 0x30 : (code & 15) + 9
}

function joinUrl(parts: Plain): string {
  const part = (name: string) => {
    const value = own(parts, name) ?? ''
    if (typeof value !== 'string') throw execFault(`unable to parse ${name} key, must be of type string`)
    return withoutLone(value)
  }
  const scheme = part('scheme') && `${part('scheme')}:`
  const user = part('userinfo') && `${part('userinfo')}@`
  const query = part('query') && `?${part('query')}`
  const fragment = part('fragment') && `#${encodeURI(part('fragment'))}`
  if (part('opaque') !== '') return scheme + part('opaque') + query + fragment
  const authority = user || part('host') ? `//${user}${part('host')}` : ''
  const path = encodeURI(part('path')).replace(/[?#]/g, encodeURIComponent)
  return (
    scheme +
    authority +
    (authority !== '' && path !== '' && !path.startsWith('/') ? `/${path}` : path) +
    query +
    fragment
  )
}
