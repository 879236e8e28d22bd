import type { Finding } from '../../findings/index.ts'
import type { Json, JsonObject } from '../../json/index.ts'
import { FLAVOURS, type Flavour, sampleOf, setOwn } from '../samples.ts'
import type { Args } from '../subjects.ts'

/** Arguments of a call that differs from others in one thing. */
export interface Variation {
  args: JsonObject
  /** What is special about it, behind "with" or "without". */
  what: string
  severity: Finding['severity']
}

/** So many calls are tried of one template. */
const MAX_VARIATIONS = 100
const MAX_VALUES = 20

/**
 * Calls that the declared arguments allow, each with one thing changed: an optional argument alone or left out,
 * a boolean the other way, a value of an enum, and what counts as empty.
 * @param names the arguments that the template reads
 * @param full a call with all arguments
 * @param least a call with only those that every call has
 */
export function* variations(
  { schemas, always }: Args,
  names: ReadonlySet<string>,
  full: JsonObject,
  least: JsonObject,
  flavour: Flavour = FLAVOURS[0],
): Generator<Variation> {
  let left = MAX_VARIATIONS
  const read = [...schemas].filter(([name]) => names.has(name))
  const optional = read.filter(([name]) => !always.has(name))
  const several = optional.length > 1
  for (const [name] of several ? optional : []) {
    if (left-- <= 0) return
    const what = `with \`${name}\` as the only optional argument`
    yield { args: changed(least, name, full[name]), what, severity: 'error' }
  }
  for (const [name] of several ? optional : []) {
    if (left-- <= 0) return
    yield { args: changed(full, name, undefined), what: `without \`${name}\``, severity: 'error' }
  }
  for (const [name, schema] of read) {
    for (const value of otherValues(schema, full[name], flavour)) {
      if (left-- <= 0) return
      const what = `with ${shown(value)} as \`${name}\``
      yield { args: changed(full, name, value), what, severity: isEmpty(value) ? 'warning' : 'error' }
      // Together with nothing else that could hide it.
      if (always.has(name) && optional.length > 0)
        yield { args: changed(least, name, value), what, severity: isEmpty(value) ? 'warning' : 'error' }
    }
  }
}

/** What else an argument may hold that a template could tell apart. */
function otherValues(schema: JsonObject, sample: Json | undefined, flavour: Flavour): Json[] {
  if (Array.isArray(schema.enum)) return schema.enum.slice(0, MAX_VALUES).filter((value) => value !== sample)
  switch (schema.type) {
    case 'boolean':
      return [false]
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' && schema.minimum > 0 ? [] : [0]
    case 'string':
      return typeof schema.minLength === 'number' && schema.minLength > 0 ? [] : ['']
    case 'array':
      return typeof schema.minItems === 'number' && schema.minItems > 0 ? [] : [[]]
    case 'object':
      return [sampleOf(schema, false, flavour)]
    default:
      return []
  }
}

/** Who declares an argument often does not think of these: a doubt, no error. */
function isEmpty(value: Json): boolean {
  return value === 0 || value === '' || (typeof value === 'object' && value !== null)
}

function shown(value: Json): string {
  if (value === '') return 'an empty text'
  if (Array.isArray(value) && value.length === 0) return 'an empty array'
  if (typeof value === 'object' && value !== null) return 'only what is required'
  return `\`${String(value).slice(0, 40)}\``
}

function changed(args: JsonObject, name: string, value: Json | undefined): JsonObject {
  const copy: JsonObject = { ...args }
  if (value === undefined) delete copy[name]
  else setOwn(copy, name, value)
  return copy
}
