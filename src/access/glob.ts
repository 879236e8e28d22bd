import { hasDotSegment } from '../template/index.ts'
import { fold, wildcards } from '../text/index.ts'

/** A name with wildcards, matched in bounded time. */
export interface Glob {
  /** Whether it matches exactly this name. */
  matches(name: string): boolean
  /** Whether a lenient server could read this name as one that it matches. */
  mayMean(name: string): boolean
}

/** Maximum characters of a checked name; longer ones match nothing, and may mean anything. */
const MAX_NAME = 2_048
/** How often a chain of servers may decode a URI. */
const DECODINGS = 3

/** @param kind in a URI, `*` does not match `/` unless it stands alone; in a name it does */
export function createGlob(source: string, kind: 'name' | 'uri'): Glob {
  const isUri = kind === 'uri'
  const exact = wildcards(source, isUri && source !== '*')
  if (!isUri) {
    const lenient = wildcards(fold(source))
    return {
      matches: (name) => name.length <= MAX_NAME && exact(name),
      mayMean: (name) => name.length > MAX_NAME || lenient(fold(name)),
    }
  }
  const lenient = [source, asUrl(source)].map((one) => wildcards(canonicalUri(one)))
  return {
    matches: (name) => name.length <= MAX_NAME && exact(name) && !hasDotSegment(name),
    mayMean(name) {
      if (name.length > MAX_NAME || hasDotSegment(name) || isRespelt(name)) return true
      const text = canonicalUri(name)
      return lenient.some((means) => means(text) || means(text.replace(/[?#].*$/s, '')))
    },
  }
}

/** Whether a URL parser writes a URI differently, so that readers may disagree about its meaning. */
function isRespelt(uri: string): boolean {
  const [own, other] = [uri, asUrl(uri)].map((one) => canonicalUri(one).replace(/\/$/, ''))
  return own !== other
}

/** A URI as URL parsers write it, without user and trailing dot of the host; unchanged if it is not a URL. */
function asUrl(uri: string): string {
  if (!URL.canParse(uri)) return uri
  const url = new URL(uri)
  url.username = ''
  url.password = ''
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1)
  return url.href
}

/** Canonical form of a URI for comparison: without case, encoding, and repeated or backward slashes. */
function canonicalUri(uri: string): string {
  let text = uri
  for (let i = 0; i < DECODINGS && text.includes('%'); i++)
    text = text.replace(/(?:%[\da-f]{2})+/gi, (bytes) =>
      Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
    )
  return fold(text).replace(/[/\\]+/g, '/')
}
