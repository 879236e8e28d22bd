import { isObject, type Json, type JsonObject } from '../index.ts'
import { type Entry, type MaskFault, parseMask } from './mask-text.ts'
import { compileDrop, type Drop, without } from './omission.ts'
import { compileSelect, type Keep, select } from './selection.ts'
import { shapedSchema } from './shaped-schema.ts'

/** Parts of values to keep and drop, as configured. */
export interface MaskTexts {
  select?: string | undefined
  drop?: readonly string[] | undefined
}

/** Compiled masks. */
export interface Masks {
  /** The entries of `select`, and of each text of `drop`. */
  readonly select: readonly Entry[]
  readonly drop: readonly (readonly Entry[])[]
  /**
   * Applies `select`, then `drop`. A value of an unexpected type becomes empty.
   * @param most characters of JSON after which `select` may stop
   */
  apply(value: Json, most?: number): Json
  /** The schema of the results for values of `schema`. */
  schemaOf(schema: JsonObject): JsonObject
}

/** A fault in `select`, or in a text of `drop`. */
export type MasksFault = MaskFault & { path: ['select'] | ['drop', number] }

/** Compiles masks, or reports their faults. */
export function compileMasks({ select: selected, drop = [] }: MaskTexts): Masks | MasksFault[] {
  const faults: MasksFault[] = []
  const parsed = (text: string, path: MasksFault['path'], compile: (entries: Entry[]) => object) => {
    const entries = parseMask(text)
    const made = 'fault' in entries ? entries : compile(entries)
    if ('fault' in made) faults.push({ ...(made as MaskFault), path })
    return 'fault' in entries ? [] : entries
  }
  const kept = selected === undefined ? [] : parsed(selected, ['select'], compileSelect)
  const dropped = drop.map((text, i) => parsed(text, ['drop', i], compileDrop))
  if (faults.length > 0) return faults
  const keep = selected === undefined ? undefined : (compileSelect(kept) as Keep)
  const leave = drop.length === 0 ? undefined : (compileDrop(dropped.flat()) as Drop)
  return {
    select: kept,
    drop: dropped,
    apply(value, most) {
      const room = most === undefined ? undefined : { left: most }
      const left = keep ? (select([keep], value, room) ?? emptyOf(value)) : value
      return leave ? without(leave, left) : left
    },
    schemaOf: (schema) => shapedSchema(schema, keep, leave),
  }
}

/** Compiles a mask requested by a model, whose results must match the schema: entries have no names. */
export function compileFields(text: string): Masks | MaskFault {
  const made = compileMasks({ select: text })
  if (Array.isArray(made)) return made[0] as MaskFault
  const named = firstNamed(made.select)
  return named ? { fault: 'gives a name to a member', start: named.start, end: named.end } : made
}

function firstNamed(entries: readonly Entry[]): Entry | undefined {
  for (const entry of entries) {
    const found = entry.name === undefined ? entry.fields && firstNamed(entry.fields) : entry
    if (found) return found
  }
  return undefined
}

function emptyOf(value: Json): Json {
  if (Array.isArray(value)) return []
  return isObject(value) ? {} : value
}
