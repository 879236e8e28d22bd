import type { Json, JsonObject } from '../json/index.ts'
import { shorten } from '../text/index.ts'
import type { Others } from './others.ts'
import { isMap, member, Unfit } from './values.ts'

/** References that lead to references. */
const MAX_HOPS = 20

export interface Refs {
  /** Follows `$ref` to what it stands for. @throws Unfit when that is not in the document */
  follow(value: Json | undefined): JsonObject
  /** What one `$ref` names. @throws Unfit */
  target(ref: string): Json
}

/** Follows references inside of one document, and from there into others. */
export function refsOf(document: JsonObject, others?: Others): Refs {
  const known = new Map<string, Json>()
  const target = (ref: string): Json => {
    const found = known.get(ref)
    if (found !== undefined) return found
    const value = ref.startsWith('#') ? lookUp(document, ref, ref) : lookUpOther(ref, others)
    known.set(ref, value)
    return value
  }
  return {
    target,
    follow(value) {
      let at = value
      for (let hops = 0; isMap(at) && typeof at.$ref === 'string'; hops++) {
        if (hops === MAX_HOPS) throw new Unfit('a reference leads back to itself')
        at = target(at.$ref)
      }
      return isMap(at) ? at : {}
    },
  }
}

function lookUpOther(ref: string, others: Others | undefined): Json {
  if (!others) throw new Unfit('it refers to another file: name the description, or bundle it into one file')
  if (!URL.canParse(ref, others.base)) throw new Unfit(`the reference ${shorten(ref, 80)} leads nowhere`)
  const url = new URL(ref, others.base)
  const pointer = url.hash
  url.hash = ''
  const other = others.files.get(url.href) ?? { fault: 'it was not read' }
  if ('fault' in other) throw new Unfit(`it refers to ${shorten(ref, 80)}: ${other.fault}`)
  return pointer === '' || pointer === '#' ? other.value : lookUp(other.value, pointer, ref)
}

function lookUp(document: Json, pointer: string, ref: string): Json {
  let at: Json | undefined = document
  for (const segment of pointer.slice(1).split('/').slice(1)) {
    const name = decode(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(at) && /^\d+$/.test(name)) at = at[Number(name)]
    else at = isMap(at) ? member(at, name) : undefined
    if (at === undefined) break
  }
  if (at === undefined || at === document) throw new Unfit(`the reference ${shorten(ref, 80)} leads nowhere`)
  return at
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
