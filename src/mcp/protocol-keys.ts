import type { KeyWatch } from '../json/index.ts'

/**
 * Keys that decide what a message does, by the object that holds them. A server may read a key that is only similar
 * (Go's `encoding/json` folds case; others strip what they cannot print), or the first of two equal ones: what the
 * gateway judged would then not be what the server does.
 */
const MESSAGE = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']
const PARAMS = ['name', 'arguments', 'uri', '_meta']
/** Further keys of `params`, folded, which may have another spelling alone, but not beside the right one. */
const LOOSE = new Set(
  ['cursor', 'requestid', 'progresstoken', 'protocolversion', 'capabilities', 'clientinfo'].concat([
    'ref',
    'level',
    'taskid',
    'task',
    'requeststate',
    'inputresponses',
    'notifications',
  ]),
)
const REF = ['type', 'name', 'uri']
const META = [
  'progressToken',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/logLevel',
]

/** Characters of a key of these objects; a longer one could hide a similar key behind what is stripped. */
const MAX_KEY = 256

/** Characters of a key that a fault shows. */
const MAX_SHOWN = 60
/** Keys of one of these objects. */
const MAX_KEYS = 1_000

/** Finds keys of JSON-RPC messages that are repeated, or similar to one of the protocol. */
export interface ProtocolKeys extends KeyWatch {
  /** A sentence for who sent the message; undefined when there is nothing to refuse. */
  readonly fault: string | undefined
}

/** @param whole whether `params` is judged too, as for messages of clients */
export function protocolKeys(whole: boolean): ProtocolKeys {
  /** Depth of the objects that are messages: 2 in a batch. */
  let base = 1
  /** The key that each level is below, folded. */
  const path: string[] = []
  const seen: Set<string>[] = []

  const watch = {
    depth: whole ? 4 : 2,
    fault: undefined as string | undefined,
    open(depth: number, isObject: boolean) {
      if (depth === 1) base = isObject ? 1 : 2
      seen[depth] = new Set()
    },
    key(depth: number, source: string) {
      if (watch.fault !== undefined) return
      const words = wordsAt(depth)
      if (!words) return
      if (seen[depth]?.size === MAX_KEYS) {
        watch.fault = `a part of a message has more than ${MAX_KEYS} keys`
        return
      }
      const key = decoded(source)
      if (key === undefined || key.length > MAX_KEY) {
        watch.fault = `a key of a message is longer than ${MAX_KEY} characters`
        return
      }
      const folded = fold(key)
      path[depth] = folded
      const meant = words.find((word) => word === key || fold(word) === folded)
      if (meant !== undefined && meant !== key)
        watch.fault = `the key ${JSON.stringify(key.slice(0, MAX_SHOWN))} is not "${meant}": write it exactly so`
      // Of any other key only the very same is a second one: methods of others may tell cases apart.
      const once = LOOSE.has(folded) ? folded : key
      if (seen[depth]?.has(once))
        watch.fault ??= `the key ${JSON.stringify(key.slice(0, MAX_SHOWN))} is there twice`
      seen[depth]?.add(once)
    },
  }

  function wordsAt(depth: number): readonly string[] | undefined {
    const level = depth - base
    if (level === 0) return MESSAGE
    if (!whole || path[base] !== 'params') return undefined
    if (level === 1) return PARAMS
    if (level !== 2) return undefined
    const parent = path[base + 1]
    return parent === '_meta' ? META : parent === 'ref' ? REF : undefined
  }

  return watch
}

function decoded(source: string): string | undefined {
  if (source.length > MAX_KEY * 6) return undefined
  if (!source.includes('\\')) return source
  try {
    return JSON.parse(`"${source}"`)
  } catch {
    // It is not JSON, as the parser finds.
    return source
  }
}

const PLAIN = /^[\x21-\x7e]*$/
const INVISIBLE = /[\p{C}\p{Z}\p{M}]/gu

/** A name as the most lenient reader takes it: without case, width, marks, and what is not printed. */
export function fold(key: string): string {
  if (PLAIN.test(key)) return key.toLowerCase()
  // Both ways, as some letters are equal in one case only (Unicode, CaseFolding: U+0131, U+017F, U+212A).
  return key.normalize('NFKD').replace(INVISIBLE, '').toUpperCase().toLowerCase().replace(INVISIBLE, '')
}
