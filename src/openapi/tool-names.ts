import { createHash } from 'node:crypto'

/** Maximum function and argument name length at model providers. */
const MAX_NAME = 64

/**
 * Creates unique names from generally accepted characters.
 * @param longest maximum characters of the name
 */
type Namer = (wanted: string, longest?: number) => string

/** @param most default maximum of characters */
export function namer(most = MAX_NAME): Namer {
  const taken = new Set<string>()
  return (wanted, longest = most) => {
    const base = shorten(wanted, longest)
    let name = base
    for (let n = 2; taken.has(name.toLowerCase()); n++) {
      const end = `_${n}`
      name = base.slice(0, longest - end.length) + end
    }
    taken.add(name.toLowerCase())
    return name
  }
}

/** A long name keeps its beginning and gets a hash suffix. */
function shorten(text: string, longest: number): string {
  if (text.length <= longest) return text
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 6)
  return `${text.slice(0, longest - 7).replace(/(?<![_-])[_-]+$/, '')}_${hash}`
}

/** The name of an operation's tool, before it is made unique. */
export function toolName(operationId: string | undefined, method: string, path: string): string {
  const own = operationId === undefined ? '' : plain(operationId)
  if (own !== '') return own
  const parts = path
    .slice(0, 1000)
    .replace(/\{([^{}]*)\}/g, ' by_$1 ')
    .split(/[/\s]+/)
    .map(plain)
    .filter(Boolean)
  return [method.toLowerCase(), ...parts].join('_')
}

function plain(text: string): string {
  return text
    .slice(0, 400)
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^[_-]+|[_-]+$/g, '')
}

/** The name of an argument: the API's if valid. */
export function argumentName(name: string): string {
  const made = isArgumentName(name) ? name : plain(name)
  return made === '' ? 'value' : made.slice(0, MAX_NAME)
}

export function isArgumentName(name: string): boolean {
  return /^[A-Za-z0-9_.-]{1,64}$/.test(name) && name !== '__proto__'
}

export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)
}

/** RFC 9110 §7.6.1 and §6.4.1: framing headers, which the gateway sets. */
const FRAMING =
  /^(?:connection|content-length|expect|host|http2-settings|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i

export function isFraming(header: string): boolean {
  return FRAMING.test(header)
}

/** `Pet Store API - OpenAPI 3.0` → `pet-store`: the API's name without descriptive words. */
export function titleSlug(title: string): string {
  const [first = ''] = title.split(/(?<!\s)\s+[-–—:|+]\s|(?<!\s)\s*\(/)
  const bare = first.replace(
    /['’]s\b|^the\b|\b(?:official|open ?api|swagger|rest|api|specification|spec|v?\d+(?:\.\d+)+|v\d+)\b/gi,
    ' ',
  )
  return slug(bare) || slug(title)
}

/** `Pet Store (beta)` → `pet-store-beta`, for names of configurations, prefixes and files. */
export function slug(text: string): string {
  const made = plain(text.replace(/['’]/g, ''))
    .toLowerCase()
    .replace(/[_-]+/g, '-')
    .slice(0, 40)
    .replace(/(?<!-)-+$/, '')
  return made
}

/** `pet-store` → `PET_STORE`, for names of environment variables. */
export function upper(...parts: string[]): string {
  const made = parts
    .map((part) => plain(part.replace(/([a-z\d])([A-Z])/g, '$1_$2')).toUpperCase())
    .join('_')
    .replace(/[^A-Z0-9]+/g, '_')
  return /^\d/.test(made) ? `_${made}` : made
}

/** `api_key`, `X-API-Key` → `apiKey`, for keys of `.Config`. */
export function configKey(text: string): string {
  const [first = 'key', ...rest] = plain(text).split(/[_-]+/).filter(Boolean)
  const made =
    first[0]!.toLowerCase() +
    first.slice(1) +
    rest.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
  return /^\d/.test(made) ? `key${made}` : made
}

/** `url` is reserved for the target of calls. */
export function safeKey(key: string): string {
  return /^url\d*$/.test(key) ? `${key}Key` : key
}

/** Maximum characters of descriptions of tools, arguments and nested schemas. */
export const LENGTHS = { tool: 500, argument: 240, nested: 160 } as const

/** A description as one line of plain text, truncated at the end of a sentence. */
export function plainText(text: string, longest: number): string {
  const plain = withoutComments(text.slice(0, 20_000))
    .replace(/<\/?[a-zA-Z][^<>]{0,500}>/g, ' ')
    .replace(/!?\[([^\][]{0,300})\]\([^()\s]{0,500}\)/g, '$1')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&nbsp;/g, ' ')
    .replace(/&amp;/g, '&')
    // It would be read as a comment of the file's author.
    .replace(/plantgw-ignore/g, 'plantgw ignore')
    // Characters that must not reach a terminal or YAML file.
    .replace(/[\p{Cc}\p{Cs}\u2028\u2029\uFEFF\uFFFE\uFFFF]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return cut(plain, longest)
}

function withoutComments(text: string): string {
  let plain = ''
  let at = 0
  for (;;) {
    const start = text.indexOf('<!--', at)
    const end = start < 0 ? -1 : text.indexOf('-->', start)
    if (end < 0) return plain + text.slice(at)
    plain += `${text.slice(at, start)} `
    at = end + 3
  }
}

function cut(text: string, longest: number): string {
  if (text.length <= longest) return text
  const head = text.slice(0, longest - 1)
  const sentence = /^.*[.!?](?=\s)/s.exec(`${head} `)?.[0] ?? ''
  if (sentence.length >= longest / 3) return sentence
  const word = head.replace(/(?<!\s)\s+\S*$/, '')
  return `${(word.length >= longest / 3 ? word : head).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** `https://api.shop.example.com` → `shop.example`; an address stays whole. */
export function hostTitle(origin: string): string {
  if (!URL.canParse(origin)) return 'api'
  return new URL(origin).hostname.replace(/^(?:www|api)\./, '').replace(/\.[a-z]\w*$/, '')
}
