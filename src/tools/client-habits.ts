import type { ErrorObject } from 'ajv'
import { isObject, type Json, type JsonObject, parse, pointerSegments, setOwn } from '../json/index.ts'
import { groupBy } from '../text/index.ts'

/** Keys that clients add to arguments: n8n, Gemini CLI. */
const ADDED = new Set(['toolCallId', 'wait_for_previous'])
/** Keys that n8n adds together with `toolCallId`; alone they may be a mistake of the model. */
const BESIDE_CALL_ID = new Set(['tool', 'sessionId', 'action', 'chatInput'])

export interface Mended {
  args: JsonObject
  /** Names of removed arguments. */
  dropped: string[]
}

/**
 * Undoes changes that clients, not models, make to arguments: unknown keys, and arrays and objects serialized where the
 * schema allows no text. Undefined: nothing to undo.
 */
export function mended(args: JsonObject, errors: readonly ErrorObject[]): Mended | undefined {
  const dropped = errors.flatMap(({ instancePath, params }) => {
    const name: string | undefined = params.additionalProperty ?? params.unevaluatedProperty
    return instancePath === '' && name !== undefined && isAdded(name, args) ? [name] : []
  })
  let made: Json = args
  const copies = new Set<Json>()
  for (const [path, faults] of groupBy(errors, ({ instancePath }) => instancePath)) {
    const types = typesWanted(faults)
    if (types) made = replaced(made, pointerSegments(path), types, copies)
  }
  if (made === args && dropped.length === 0) return undefined
  const kept = Object.entries(made as JsonObject).filter(([name]) => !dropped.includes(name))
  return { args: Object.fromEntries(kept), dropped: [...new Set(dropped)] }
}

function isAdded(name: string, args: JsonObject): boolean {
  return ADDED.has(name) || (BESIDE_CALL_ID.has(name) && Object.hasOwn(args, 'toolCallId'))
}

/** The expected types of a value refused only for its type; another fault may concern an allowed text. */
function typesWanted(errors: readonly ErrorObject[]): ReadonlySet<string> | undefined {
  const faults = errors.filter(({ keyword }) => keyword !== 'anyOf' && keyword !== 'oneOf')
  if (!faults.length || faults.some(({ keyword }) => keyword !== 'type')) return undefined
  return new Set<string>(faults.flatMap(({ params }) => params.type))
}

/**
 * The value with the JSON text at a path parsed; the same value if it has none of these types.
 * @param copies objects and arrays already copied
 */
function replaced(value: Json, path: readonly string[], types: ReadonlySet<string>, copies: Set<Json>): Json {
  const [key, ...rest] = path
  if (key === undefined) return parsed(value, types)
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return value
  const before = (value as JsonObject)[key]!
  const after = replaced(before, rest, types, copies)
  if (after === before) return value
  const copy = copies.has(value) ? value : Array.isArray(value) ? [...value] : { ...(value as JsonObject) }
  copies.add(copy)
  setOwn(copy as JsonObject, key, after)
  return copy
}

function parsed(value: Json, types: ReadonlySet<string>): Json {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    const made = parse(value)
    return types.has(Array.isArray(made) ? 'array' : isObject(made) ? 'object' : '') ? made : value
  } catch {
    return value
  }
}
