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
  const canonical = isUri ? canonicalUri : fold
  const lenient = wildcards(canonical(source))
  return {
    matches: (name) => name.length <= MAX_NAME && exact(name) && !(isUri && hasDotSegment(name)),
    mayMean(name) {
      if (name.length > MAX_NAME || (isUri && hasDotSegment(name))) return true
      const text = canonical(name)
      return lenient(text) || (isUri && lenient(text.replace(/[?#].*$/s, '')))
    },
  }
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
