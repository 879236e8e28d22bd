import { hasDotSegment } from '../template/index.ts'
import { fold, wildcards } from '../text/index.ts'

/** A name with wildcards, for names that others choose: judging one takes a time that is bounded. */
export interface Glob {
  /** Whether it stands for exactly this name. */
  matches(name: string): boolean
  /** Whether a server that reads names leniently could take this one for one that it stands for. */
  mayMean(name: string): boolean
}

/** Characters of a name that is judged; longer ones match nothing, and may mean everything. */
const MAX_NAME = 2_048
/** Times that servers in a row may decode a URI. */
const DECODINGS = 3

/** @param kind in a URI `*` does not go beyond `/`, but where it is alone; in a name it does */
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

/** Whether a parser of URLs writes a URI otherwise: nothing tells then which other readers take it for another one. */
function isRespelt(uri: string): boolean {
  const [own, other] = [uri, asUrl(uri)].map((one) => canonicalUri(one).replace(/\/$/, ''))
  return own !== other
}

/** A URI as parsers of URLs write it, without user and the dot that ends a host; as it is where it is no URL. */
function asUrl(uri: string): string {
  if (!URL.canParse(uri)) return uri
  const url = new URL(uri)
  url.username = ''
  url.password = ''
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1)
  return url.href
}

/** How two spellings of one URI are equal: without case, encoding, and repeated or backward slashes. */
function canonicalUri(uri: string): string {
  let text = uri
  for (let i = 0; i < DECODINGS && text.includes('%'); i++)
    text = text.replace(/(?:%[\da-f]{2})+/gi, (bytes) =>
      Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
    )
  return fold(text).replace(/[/\\]+/g, '/')
}
