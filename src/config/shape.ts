import { lowerFirst } from '../text/index.ts'

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
  allOf?: SchemaNode[]
  unevaluatedProperties?: boolean
  enum?: unknown[]
  minLength?: number
  pattern?: string
  minimum?: number
  maximum?: number
  default?: unknown
  /** A secret: no finding shows it. */
  writeOnly?: boolean
  examples?: unknown[]
  /**
   * The converted value: `duration`: milliseconds. `size`: bytes. `json`: as in the file, without defaults.
   * `partial`: without defaults, as they depend on the context. `derived`: never absent, see `build.ts`.
   */
  'x-model'?: 'duration' | 'size' | 'json' | 'partial' | 'derived'
  /** Description of the required form for a text that does not match `pattern`. Default: a path, or by `x-model`. */
  'x-form'?: string
  /** The former name of the key, which is read as well. */
  'x-was'?: string
}

/** The part of a schema that reading YAML scalars needs. */
export interface Shape {
  title: string
  /** `text`: scalars are taken as written. `typed`: a number or boolean. `any`: as YAML says. */
  kind: 'text' | 'typed' | 'any' | 'map' | 'list'
  /** Whether an empty text is invalid; for an optional key it then counts as absent. */
  neverEmpty: boolean
  required: ReadonlySet<string>
  properties: ReadonlyMap<string, Shape>
  /** Shape of keys not in `properties`. */
  others: Shape
  items: Shape
  /** Current names by former names of keys. */
  renamed: ReadonlyMap<string, string>
}

export const ANY: Shape = {
  title: 'object',
  kind: 'any',
  neverEmpty: false,
  required: new Set(),
  properties: new Map(),
  renamed: new Map(),
  get others() {
    return ANY
  },
  get items() {
    return ANY
  },
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
    const { title = ANY.title, required } = schema
    const shape: Shape = { ...ANY, title, kind, neverEmpty, required: new Set(required) }
    // Registered before its parts are built: schemas refer to themselves.
    known.set(schema, shape)
    shape.properties = new Map(
      Object.entries(schema.properties ?? {}).map(([key, member]) => [key, build(member)]),
    )
    shape.renamed = new Map(
      Object.entries(schema.properties ?? {}).flatMap(([key, { 'x-was': was }]) => (was ? [[was, key]] : [])),
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

/** The shape at a path; `ANY` where no schema describes the value. */
export function shapeAt(root: Shape, path: readonly (string | number)[]): Shape {
  let shape = root
  for (const key of path)
    shape = typeof key === 'number' ? shape.items : (shape.properties.get(key) ?? shape.others)
  return shape
}

/** The title of a shape inside a sentence: `a tool`, `an MCP server`, `the settings`. */
export function titled({ title }: Pick<Shape, 'title'>, article: 'a' | 'the'): string {
  const noun = /^[A-Z][a-z]/.test(title) ? lowerFirst(title) : title
  return `${article === 'a' && /^[aeiou]|^MCP/.test(noun) ? 'an' : article} ${noun}`
}
