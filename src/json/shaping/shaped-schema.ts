import { isObject, type Json, type JsonObject, mapMembers, referenced, setOwn, valueAt } from '../index.ts'
import { type Drop, dropBelow, dropsByName, isDropped } from './omission.ts'
import { isTaken, type Keep, keepsOfItems, keepsOfMember, type Taken } from './selection.ts'

/** Keywords that stay valid for a part of a value. */
const WORDS = ['$schema', 'title', 'description', 'deprecated', 'type', 'format']
const OF_SCALARS = [
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'contentEncoding',
  'contentMediaType',
]
/** Keywords that shortened strings and arrays may violate. */
const OF_LENGTH = ['pattern', 'format', 'minLength', 'minItems', 'contains', 'minContains']

/** Keywords that a list combined from several pages may violate. */
const OF_ONE_PAGE = ['maxItems', 'uniqueItems', 'maxContains']

/** Keywords that a value with missing members may violate. */
const OF_MEMBERS = [
  'required',
  'minProperties',
  'dependentRequired',
  'dependentSchemas',
  'oneOf',
  'not',
  'if',
  'const',
  'enum',
]

/** Maximum schemas derived from one; beyond, there are no constraints. */
const MAX_SCHEMAS = 5_000

/**
 * The schema of `select` and `drop` results: valid for every shaped value of a value valid for `schema`. Inexpressible
 * parts are unconstrained.
 */
export function shapedSchema(
  schema: JsonObject,
  keeps: Keep | undefined,
  drop: Drop | undefined,
): JsonObject {
  const dropped = drop ? new Shaper(schema).start((shaper) => shaper.drop(schema, drop)) : schema
  return keeps ? new Shaper(dropped).start((shaper) => shaper.select(dropped, [keeps])) : dropped
}

/** The schema for values with truncated lists and strings. @param isPart whether members may be missing too */
export function loosenedSchema(schema: JsonObject, isPart = false): JsonObject {
  return withoutKeywords(schema, isPart ? [...OF_LENGTH, ...OF_MEMBERS] : OF_LENGTH)
}

/** The schema for values with several pages' items in one list. */
export function joinedSchema(schema: JsonObject): JsonObject {
  return withoutKeywords(schema, OF_ONE_PAGE)
}

/** Keywords whose loosened content would reject more values. */
const OF_NEGATION = ['not', 'if']

/** The schema without some keywords at every depth, which accepts more values. */
function withoutKeywords(schema: JsonObject, omitted: readonly string[]): JsonObject {
  const loose = (value: Json): Json => (isObject(value) ? withoutKeywords(value, omitted) : value)
  const made: JsonObject = {}
  const { oneOf, anyOf, allOf, ...others } = schema
  if (Array.isArray(oneOf) && !omitted.includes('oneOf')) {
    // Several alternatives may now be valid.
    if (anyOf === undefined) others.anyOf = oneOf
    else others.allOf = [...(Array.isArray(allOf) ? allOf : []), { anyOf: oneOf }]
  }
  const all = { ...(anyOf !== undefined && { anyOf }), ...(allOf !== undefined && { allOf }), ...others }
  for (const [keyword, value] of Object.entries(all)) {
    if (omitted.includes(keyword) || OF_NEGATION.includes(keyword)) continue
    if (OF_MAPS.includes(keyword) && isObject(value)) setOwn(made, keyword, mapMembers(value, loose))
    else if (OF_LISTS.includes(keyword) && Array.isArray(value)) setOwn(made, keyword, value.map(loose))
    else setOwn(made, keyword, OF_ONE.includes(keyword) ? loose(value) : value)
  }
  return made
}

const OF_MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const OF_LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const OF_ONE = ['items', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems']

class Shaper {
  private made = 0
  /** Names in `$defs` by reference and masks. */
  private readonly names = new Map<string, string>()
  private readonly ids = new Map<object, number>()
  private readonly defs: JsonObject = {}
  /** Whether references lead outside the definitions, where they would become invalid. */
  private readonly entangled: boolean

  constructor(private readonly root: JsonObject) {
    this.entangled = refersTo(root, (ref) => !DEFINITION.test(ref))
  }

  start(make: (shaper: this) => JsonObject): JsonObject {
    const schema = make(this)
    // Schemas kept whole refer to the original definitions.
    const { $defs, definitions } = this.root
    const defs = { ...(isObject($defs) && $defs), ...this.defs }
    if (!refersTo(schema) && !refersTo(this.defs)) return schema
    return {
      ...schema,
      ...(Object.keys(defs).length > 0 && { $defs: defs }),
      ...(definitions !== undefined && { definitions }),
    }
  }

  select(schema: Json, keeps: readonly Keep[]): JsonObject {
    if (!isObject(schema) || ++this.made > MAX_SCHEMAS) return {}
    if (keeps.some(({ whole }) => whole)) return this.kept(schema)
    if (typeof schema.$ref === 'string')
      return this.referred(schema.$ref, keeps, (target) => this.select(target, keeps))
    const made = pick(schema, WORDS)
    const properties = this.selectProperties(schema, keeps)
    if (properties) made.properties = properties
    const required = namesIn(schema.required).filter((name) => this.stays(schema, keeps, name))
    if (required.length) made.required = required
    const items = keepsOfItems(keeps)
    if (items.length && schema.items !== undefined && schema.prefixItems === undefined)
      made.items = this.select(schema.items, items)
    const members = keepsOfMember(keeps, '')
    const { additionalProperties, patternProperties } = schema
    const alone = patternProperties === undefined && !keeps.some(({ outputs }) => outputs.size > 0)
    if (members.length && alone && isObject(additionalProperties))
      made.additionalProperties = this.select(additionalProperties, members)
    return this.combined(schema, made, (one) => this.select(one, keeps))
  }

  private selectProperties(schema: JsonObject, keeps: readonly Keep[]): JsonObject | undefined {
    const given = isObject(schema.properties) ? schema.properties : {}
    const made: JsonObject = {}
    const put = (name: string, make: () => JsonObject) => {
      if (!Object.hasOwn(made, name)) setOwn(made, name, make())
    }
    for (const { outputs } of keeps)
      for (const [name, output] of outputs) {
        if (isTaken(output)) put(name, () => this.taken(schema, output, 0, false))
        else if (Object.hasOwn(given, name))
          put(name, () => this.select(given[name] as Json, keepsOfMember(keeps, name)))
      }
    if (keeps.some(({ members }) => members))
      for (const [name, property] of Object.entries(given))
        put(name, () => this.select(property, keepsOfMember(keeps, name)))
    return Object.keys(made).length > 0 ? made : undefined
  }

  /** Whether a required member is always kept, even if its value has an unexpected type. */
  private stays(schema: JsonObject, keeps: readonly Keep[], name: string): boolean {
    if (keeps.some(({ outputs }) => isTaken(outputs.get(name)))) return false
    const below = keepsOfMember(keeps, name)
    if (below.some(({ whole }) => whole)) return true
    const property = valueAt(schema, ['properties', name])
    if (below.length === 0 || !isObject(property)) return false
    const fits = (type: Json) =>
      type === 'null' ||
      (type === 'object' && below.some(({ outputs, members }) => outputs.size > 0 || members)) ||
      (type === 'array' && below.some(({ items }) => items))
    const types = typesOf(property)
    return types?.every(fits) ?? false
  }

  /** @param nullable whether a value on the path may be null */
  private taken(schema: Json | undefined, from: Taken, i: number, nullable: boolean): JsonObject {
    const known = this.resolved(schema)
    if (!known || ++this.made > MAX_SCHEMAS) return {}
    const step = from.steps[i]
    const isNull = nullable || !(typesOf(known) ?? ['null']).every((type) => type !== 'null')
    if (step === undefined) {
      const made = this.select(known, [from.keep])
      return nullable && Object.keys(made).length > 0 ? { anyOf: [made, { type: 'null' }] } : made
    }
    if (OF_LISTS.some((keyword) => known[keyword] !== undefined)) return {}
    if (step === 'items') {
      const made: JsonObject = { type: isNull ? ['array', 'null'] : 'array' }
      return known.items === undefined || known.prefixItems !== undefined
        ? made
        : { ...made, items: this.taken(known.items, from, i + 1, false) }
    }
    if (typeof step === 'string') return { type: isNull ? ['object', 'null'] : 'object' }
    const property = valueAt(known, ['properties', step.member])
    return property === undefined ? {} : this.taken(property, from, i + 1, isNull)
  }

  drop(schema: Json, drop: Drop): JsonObject {
    if (!isObject(schema) || ++this.made > MAX_SCHEMAS) return {}
    if (drop.nodes.length === 0) return this.kept(schema)
    if (typeof schema.$ref === 'string')
      return this.referred(schema.$ref, drop.nodes, (target) => this.drop(target, drop))
    const made = pick(schema, [...WORDS, ...OF_SCALARS, 'maxItems'])
    for (const keyword of ['enum', 'const']) {
      const values = schema[keyword]
      if (values !== undefined && [values].flat().every((one) => typeof one !== 'object' || one === null))
        made[keyword] = values
    }
    const gone = (name: string) => isDropped(dropBelow(drop, name))
    if (isObject(schema.properties)) {
      const kept = Object.entries(schema.properties).filter(([name]) => !gone(name))
      made.properties = {}
      for (const [name, property] of kept)
        setOwn(made.properties, name, this.drop(property, dropBelow(drop, name)))
    }
    const required = namesIn(schema.required).filter((name) => !gone(name))
    if (required.length) made.required = required
    if (schema.items !== undefined && schema.prefixItems === undefined) {
      const below = dropBelow(drop)
      if (!isDropped(below)) made.items = this.drop(schema.items, below)
    }
    const { additionalProperties } = schema
    if (additionalProperties === false && schema.patternProperties === undefined)
      made.additionalProperties = false
    else if (isObject(additionalProperties) && !dropsByName(drop) && schema.patternProperties === undefined)
      made.additionalProperties = this.drop(additionalProperties, dropBelow(drop, ''))
    return this.combined(schema, made, (one) => this.drop(one, drop))
  }

  /** Several alternatives of `oneOf` may be valid for a part of a value. */
  private combined(schema: JsonObject, made: JsonObject, make: (schema: Json) => JsonObject): JsonObject {
    const { allOf, anyOf, oneOf } = schema
    const all = Array.isArray(allOf) ? allOf.map(make) : []
    if (Array.isArray(anyOf)) made.anyOf = anyOf.map(make)
    if (Array.isArray(oneOf)) {
      if (made.anyOf) all.push({ anyOf: oneOf.map(make) })
      else made.anyOf = oneOf.map(make)
    }
    if (all.length) made.allOf = all
    return made
  }

  /** A reference to a separate definition, so that recursive schemas end. */
  private referred(
    ref: string,
    holds: readonly object[],
    make: (target: JsonObject) => JsonObject,
  ): JsonObject {
    const target = referenced(ref, this.root)
    if (!target) return {}
    const key = `${ref} ${holds.map((one) => this.idOf(one)).join()}`
    let name = this.names.get(key)
    if (name === undefined) {
      name = `shaped${this.names.size + 1}`
      while (isObject(this.root.$defs) && Object.hasOwn(this.root.$defs, name)) name += '_'
      this.names.set(key, name)
      setOwn(this.defs, name, make(target))
    }
    return { $ref: `#/$defs/${name}` }
  }

  /** A schema kept unchanged. */
  private kept(schema: JsonObject): JsonObject {
    return this.entangled && refersTo(schema) ? {} : schema
  }

  private idOf(one: object): number {
    const id = this.ids.get(one) ?? this.ids.size
    this.ids.set(one, id)
    return id
  }

  private resolved(schema: Json | undefined): JsonObject | undefined {
    let at = schema
    for (let i = 0; i < 32 && isObject(at); i++) {
      if (typeof at.$ref !== 'string') return at
      at = referenced(at.$ref, this.root)
    }
    return undefined
  }
}

/** Undefined: unspecified. */
function typesOf({ type }: JsonObject): Json[] | undefined {
  return type === undefined ? undefined : [type].flat()
}

function namesIn(required: Json | undefined): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
}

function pick(schema: JsonObject, keywords: readonly string[]): JsonObject {
  const made: JsonObject = {}
  for (const keyword of keywords) if (schema[keyword] !== undefined) made[keyword] = schema[keyword]
  return made
}

const DEFINITION = /^#\/(?:\$defs|definitions)\/[^/]+$/

/** Whether a schema contains a reference of this kind. */
function refersTo(schema: Json, isKind: (ref: string) => boolean = () => true): boolean {
  if (Array.isArray(schema)) return schema.some((one) => refersTo(one, isKind))
  if (!isObject(schema)) return false
  const { $ref, $dynamicRef } = schema
  if (typeof $dynamicRef === 'string' || (typeof $ref === 'string' && isKind($ref))) return true
  return Object.values(schema).some((one) => refersTo(one, isKind))
}
