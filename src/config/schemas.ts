import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { ErrorObject, Options, ValidateFunction } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { Json, JsonObject } from '../json/index.ts'
import { lowerFirst } from '../text/index.ts'
import { makeAjv } from './json-schema/ajv.ts'
import type { Nodes } from './yaml/places.ts'

export interface LoadedSchema {
  schema: SchemaNode
  shape: Shape
  /** Collects all errors. */
  validate: ValidateFunction
  /** Stops at the first error. */
  validateFirst: ValidateFunction
  /** Where each key is known, in words. */
  homes: ReadonlyMap<string, string[]>
}

export type SchemaName = 'configuration' | 'settings' | 'lint'

const loaded = new Map<SchemaName, LoadedSchema>()

/** A schema of `schemas/`, compiled when it is first wanted. */
export function loadSchema(name: SchemaName): LoadedSchema {
  const known = loaded.get(name)
  if (known) return known
  const schema = withoutEnv(schemaFile(name))
  const shape = shapeOf(schema)
  let firstOnly: ValidateFunction | undefined
  const result: LoadedSchema = {
    schema,
    shape,
    validate: precompiled(name) ?? schemaAjv(true).compile(schema),
    get validateFirst() {
      firstOnly ??= schemaAjv(false).compile(schema)
      return firstOnly
    },
    homes: homesOf(shape),
  }
  loaded.set(name, result)
  return result
}

/** The validator precompiled at build time by `precompile.ts`. */
function precompiled(name: SchemaName): ValidateFunction | undefined {
  const url = new URL(precompiledFile(name), import.meta.url)
  return existsSync(url) ? createRequire(import.meta.url)(fileURLToPath(url)) : undefined
}

/** Seen from dist/config and dist/bin alike; there is none beside the sources. */
export function precompiledFile(name: SchemaName): string {
  return `../config/${name}.validate.cjs`
}

/** @param code how to write a validator as a module, where that is wanted */
export function schemaAjv(allErrors: boolean, code?: Options['code']): Ajv2020 {
  const ajv = makeAjv({
    ...(code && { code }),
    strict: true,
    strictRequired: false,
    allErrors,
    allowUnionTypes: true,
    verbose: true,
  })
  ajv.addFormat('regex', isRegex)
  // For editors, and for what becomes of the values.
  for (const keyword of ['defaultSnippets', 'x-form', 'x-model']) ajv.addKeyword(keyword)
  return ajv
}

/** The text of `schemas/<name>.schema.json` as an object, for those who print it. */
export function schemaFile(name: SchemaName): SchemaNode {
  // The folder is at the same place seen from src/config, dist/config and dist/bin.
  const url = new URL(`../../schemas/${name}.schema.json`, import.meta.url)
  return JSON.parse(readFileSync(url, 'utf8'))
}

export function isRegex(text: string): boolean {
  return regexFault(text) === undefined
}

/** The engine's error for a regular expression, such as `invalid escape`. */
export function regexFault(text: string): string | undefined {
  try {
    new RegExp(text, 'u')
    return undefined
  } catch (error) {
    const reason = (error as Error).message.replace(/^Invalid regular expression: .*\/[a-z]*: /s, '')
    return lowerFirst(reason)
  }
}

/** Maximum characters for which all errors are collected at once, which takes quadratic time. */
const SMALL = 256 * 1024

/**
 * All schema errors of a value. In a large file, list items are validated one by one until there are `most` errors; a
 * single large item reports only its first error.
 */
export function schemaErrorsOf(
  value: Json,
  size: number,
  schema: LoadedSchema,
  nodes: Nodes,
  most: number,
): ErrorObject[] {
  if (size <= SMALL || typeof value !== 'object' || value === null) return all(value, schema)
  if (schema.validateFirst(value)) return []
  const rest: JsonObject = {}
  const lists: [string, Json[]][] = []
  for (const [key, member] of Object.entries(value as JsonObject)) {
    if (!Array.isArray(member) || key.startsWith('x-')) rest[key] = member
    else lists.push([key, member])
  }
  const errors = Object.keys(rest).length > 1000 ? first(rest, schema) : all(rest, schema)
  // Minimal valid members around each item; they are not validated again.
  const frame = Object.fromEntries((schema.schema.required ?? []).map((key) => [key, 'x']))
  for (const [key, items] of lists) {
    for (const [i, item] of items.entries()) {
      if (errors.length >= most) return errors
      const wrapped = { ...frame, [key]: [item] }
      const { start = 0, end = 0 } = nodes.at([key, i]) ?? {}
      const found = end - start <= SMALL ? all(wrapped, schema) : first(wrapped, schema)
      for (const error of found) {
        const inItem = error.instancePath.startsWith(`/${key}/0`)
        const instancePath = inItem
          ? `/${key}/${i}${error.instancePath.slice(key.length + 3)}`
          : error.instancePath
        errors.push({ ...error, instancePath })
        // Said of the list itself, such as a key that is not known: once.
        if (!inItem) return errors
      }
    }
  }
  return errors
}

function all(value: unknown, { validate }: LoadedSchema): ErrorObject[] {
  return validate(value) ? [] : (validate.errors ?? [])
}

function first(value: unknown, { validateFirst }: LoadedSchema): ErrorObject[] {
  return validateFirst(value) ? [] : (validateFirst.errors ?? [])
}

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
  minimum?: number
  maximum?: number
  default?: unknown
  /** A secret: no finding shows it. */
  writeOnly?: boolean
  examples?: unknown[]
  deprecated?: boolean
  /**
   * The converted value: `duration`: milliseconds. `size`: bytes. `json`: as in the file, without defaults.
   * `partial`: without defaults, as they depend on the context. `derived`: never absent, see `build.ts`.
   */
  'x-model'?: 'duration' | 'size' | 'json' | 'partial' | 'derived'
  /** Description of the required form for a text that does not match `pattern`. Default: a path, or by `x-model`. */
  'x-form'?: string
}

/** The part of a schema that reading YAML scalars needs. */
export interface Shape {
  title: string
  /** `text`: scalars are taken as written. `typed`: a number or boolean. `any`: as YAML says. */
  kind: 'text' | 'typed' | 'any' | 'map' | 'list'
  /** An empty text is no value here, so for an optional key it counts as not given. */
  neverEmpty: boolean
  required: ReadonlySet<string>
  properties: ReadonlyMap<string, Shape>
  /** Shape of keys not in `properties`. */
  others: Shape
  items: Shape
}

export const ANY: Shape = {
  title: 'object',
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
    const { title = ANY.title, required } = schema
    const shape: Shape = { ...ANY, title, kind, neverEmpty, required: new Set(required) }
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

/** The shape at a path; what no schema describes has any. */
export function shapeAt(root: Shape, path: readonly (string | number)[]): Shape {
  let shape = root
  for (const key of path)
    shape = typeof key === 'number' ? shape.items : (shape.properties.get(key) ?? shape.others)
  return shape
}

/** The title of a shape inside a sentence: `a tool`, `an MCP server`, `the settings`. */
export function titled({ title }: Shape, article: 'a' | 'the'): string {
  const noun = /^[A-Z][a-z]/.test(title) ? lowerFirst(title) : title
  return `${article === 'a' && /^[aeiou]|^MCP/.test(noun) ? 'an' : article} ${noun}`
}

/** Where each key is known, in words: `a tool`, `` `cors` ``. */
export function homesOf(root: Shape): Map<string, string[]> {
  const homes = new Map<string, string[]>()
  const seen = new Set<Shape>([ANY])
  const visit = (shape: Shape, noun: string) => {
    if (seen.has(shape)) return
    seen.add(shape)
    for (const [key, member] of shape.properties) {
      homes.set(key, [...(homes.get(key) ?? []), noun])
      visit(member, `\`${key}\``)
    }
    for (const part of [shape.items, shape.others]) visit(part, titled(part, 'a'))
  }
  visit(root, titled(root, 'the'))
  return homes
}
