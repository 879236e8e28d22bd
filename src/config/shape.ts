/** A JSON Schema as parsed; only what this room's own schemas use is read. */
export interface SchemaNode {
  [keyword: string]: unknown
  title?: string
  description?: string
  type?: string | string[]
  properties?: Record<string, SchemaNode>
  patternProperties?: Record<string, SchemaNode | boolean>
  additionalProperties?: SchemaNode | boolean
  required?: string[]
  items?: SchemaNode | boolean
  $ref?: string
  $defs?: Record<string, SchemaNode>
  anyOf?: SchemaNode[]
  enum?: unknown[]
  minLength?: number
  pattern?: string
  default?: unknown
  examples?: unknown[]
  deprecated?: boolean
  /**
   * What a value becomes: `duration`: milliseconds. `size`: bytes. `json`: what the file says, without defaults.
   * `partial`: without defaults, as they depend on what surrounds it. `derived`: never absent, see `build.ts`.
   */
  'x-model'?: 'duration' | 'size' | 'json' | 'partial' | 'derived'
}

/** What a schema wants at a place, as far as reading YAML scalars needs to know. */
export interface Shape {
  /** `text`: scalars are taken as written. `typed`: a number or boolean. `any`: as YAML says. */
  kind: 'text' | 'typed' | 'any' | 'map' | 'list'
  /** An empty text is no value here, so for an optional key it counts as not given. */
  neverEmpty: boolean
  required: ReadonlySet<string>
  properties: ReadonlyMap<string, Shape>
  /** Of keys that `properties` does not name. */
  others: Shape
  items: Shape
}

export const ANY: Shape = {
  kind: 'any',
  neverEmpty: false,
  required: new Set(),
  properties: new Map(),
  get others() {
    return ANY
  },
  get items() {
    return ANY
  },
}

/**
 * The schema without the alternative `${NAME:default}` that it offers editors: here variables are replaced
 * before anything is checked.
 */
export function withoutEnv(schema: SchemaNode): SchemaNode {
  const strip = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(strip)
    if (typeof value !== 'object' || value === null) return value
    const { anyOf, ...rest } = value as SchemaNode
    // `anyOf` may be the name of a property, too.
    const choice = Array.isArray(anyOf) && anyOf.length === 2 && anyOf[1]?.$ref === '#/$defs/env'
    const merged = choice ? { ...anyOf[0], ...rest } : value
    return Object.fromEntries(Object.entries(merged).map(([key, member]) => [key, strip(member)]))
  }
  return strip(schema) as SchemaNode
}

/** The shape of a schema that has gone through `withoutEnv`. */
export function shapeOf(root: SchemaNode): Shape {
  const known = new Map<SchemaNode, Shape>()
  const build = (schema: SchemaNode | boolean | undefined): Shape => {
    if (typeof schema !== 'object') return ANY
    if (schema.$ref) return build(root.$defs?.[schema.$ref.replace('#/$defs/', '')])
    const done = known.get(schema)
    if (done) return done
    const kind = kindOf(schema)
    const neverEmpty = kind === 'text' && Boolean(schema.minLength || schema.pattern || schema.enum)
    const shape: Shape = { ...ANY, kind, neverEmpty, required: new Set(schema.required) }
    // Registered before its parts are built: schemas refer to themselves.
    known.set(schema, shape)
    shape.properties = new Map(
      Object.entries(schema.properties ?? {}).map(([key, member]) => [key, build(member)]),
    )
    shape.others = build(schema.additionalProperties)
    shape.items = build(schema.items)
    return shape
  }
  return build(root)
}

function kindOf({ type, enum: allowed }: SchemaNode): Shape['kind'] {
  if (allowed?.every((value) => typeof value === 'string')) return 'text'
  if (type === undefined) return 'any'
  if (type === 'object') return 'map'
  if (type === 'array') return 'list'
  return [type].flat().includes('string') ? 'text' : 'typed'
}
