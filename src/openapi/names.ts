import { createHash } from 'node:crypto'

/** What model providers take for the name of a function, and of one of its arguments. */
const MAX_NAME = 64

/** Gives each text a name of the characters that everybody takes, unlike all that it gave before. */
export type Namer = (wanted: string) => string

/** @param longest characters of a name */
export function namer(longest = MAX_NAME): Namer {
  const taken = new Set<string>()
  return (wanted) => {
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

/** A long name keeps its beginning, and gets a few letters that tell it from others with the same one. */
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

/** The name of an argument: that of the API where it can be one. */
export function argumentName(name: string): string {
  const made = isArgumentName(name) ? name : plain(name)
  return made === '' ? 'value' : made.slice(0, MAX_NAME)
}

export function isArgumentName(name: string): boolean {
  return /^[A-Za-z0-9_.-]{1,64}$/.test(name) && name !== '__proto__'
}

/** `Pet Store API - OpenAPI 3.0` → `pet-store`: what a document calls its API, without what it says of itself. */
export function titleSlug(title: string): string {
  const [first = ''] = title.split(/(?<!\s)\s+[-–—:|]\s|(?<!\s)\s*\(/)
  const bare = first.replace(
    /\b(?:open ?api|swagger|rest|api|specification|spec|v?\d+(?:\.\d+)+|v\d+)\b/gi,
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
