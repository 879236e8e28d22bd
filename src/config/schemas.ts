import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { ErrorObject, Options, ValidateFunction } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { Json, JsonObject } from '../json/index.ts'
import { syntaxFault } from '../template/index.ts'
import { makeAjv } from './json-schema/ajv.ts'
import { type SchemaNode, type Shape, shapeOf } from './shape.ts'
import type { Nodes } from './yaml/places.ts'

export interface LoadedSchema {
  name: SchemaName
  schema: SchemaNode
  shape: Shape
  /** Collects all errors. */
  validate: ValidateFunction
  /** Stops at the first error. */
  validateFirst: ValidateFunction
}

export type SchemaName = 'configuration' | 'settings' | 'lint'

const loaded = new Map<SchemaName, LoadedSchema>()

/** A schema of `schemas/`, compiled on first use. */
export function loadSchema(name: SchemaName): LoadedSchema {
  const known = loaded.get(name)
  if (known) return known
  const schema = withoutEnv(schemaOf(name))
  const shape = shapeOf(schema)
  let firstOnly: ValidateFunction | undefined
  const result: LoadedSchema = {
    name,
    schema,
    shape,
    validate: precompiled(name) ?? schemaAjv(true).compile(schema),
    get validateFirst() {
      firstOnly ??= schemaAjv(false).compile(schema)
      return firstOnly
    },
  }
  loaded.set(name, result)
  return result
}

/** The validator precompiled at build time by `precompile.ts`. */
function precompiled(name: SchemaName): ValidateFunction | undefined {
  const url = new URL(precompiledFile(name), import.meta.url)
  return existsSync(url) ? createRequire(import.meta.url)(fileURLToPath(url)) : undefined
}

/** The same path from dist/config and dist/bin. There is none beside the sources. */
export function precompiledFile(name: SchemaName): string {
  return `../config/${name}.validate.cjs`
}

/** @param code options for writing the validator as a module */
export function schemaAjv(allErrors: boolean, code?: Options['code']): Ajv2020 {
  const ajv = makeAjv({
    ...(code && { code }),
    strict: true,
    strictRequired: false,
    allErrors,
    allowUnionTypes: true,
    verbose: true,
  })
  ajv.addFormat('regex', (text) => syntaxFault(text) === undefined)
  // Keywords for editors, and for the conversion of values.
  for (const keyword of ['defaultSnippets', 'x-form', 'x-model', 'x-was']) ajv.addKeyword(keyword)
  return ajv
}

/** The schema of a kind of file, where each object has itself what it takes by `allOf` from other definitions. */
export function schemaOf(name: SchemaName): SchemaNode {
  const root = schemaFile(name)
  const partOf = ({ $ref = '' }: SchemaNode) => root.$defs?.[$ref.replace('#/$defs/', '')]?.properties
  const merged = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(merged)
    if (typeof value !== 'object' || value === null) return value
    const { unevaluatedProperties, allOf = [], properties, ...rest } = value as SchemaNode
    const conditions = allOf.filter(({ $ref }) => $ref === undefined)
    const node =
      unevaluatedProperties === false
        ? {
            ...rest,
            ...(conditions.length > 0 && { allOf: conditions }),
            properties: Object.assign({}, properties, ...allOf.map(partOf)),
            additionalProperties: false,
          }
        : value
    return Object.fromEntries(Object.entries(node).map(([key, member]) => [key, merged(member)]))
  }
  return merged(root) as SchemaNode
}

/** The schema of a kind of file for editors, with the definitions of `common.schema.json` that it refers to. */
export function schemaFile(name: SchemaName): SchemaNode {
  const text = schemaText(name)
  const schema: SchemaNode = JSON.parse(text.replaceAll(`${COMMON}#`, '#'))
  if (!text.includes(COMMON)) return schema
  const { $defs }: SchemaNode = JSON.parse(schemaText('common'))
  return { ...schema, $defs: { ...$defs, ...schema.$defs } }
}

const COMMON = 'common.schema.json'

function schemaText(name: string): string {
  // The folder is at the same place seen from src/config, dist/config and dist/bin.
  return readFileSync(new URL(`../../schemas/${name}.schema.json`, import.meta.url), 'utf8')
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
  if (size <= SMALL || typeof value !== 'object' || value === null) return allErrors(value, schema)
  if (schema.validateFirst(value)) return []
  const rest: JsonObject = {}
  const lists: [string, Json[]][] = []
  for (const [key, member] of Object.entries(value as JsonObject)) {
    if (!Array.isArray(member) || key.startsWith('x-')) rest[key] = member
    else lists.push([key, member])
  }
  const errors = Object.keys(rest).length > 1000 ? firstError(rest, schema) : allErrors(rest, schema)
  // Minimal valid members around each item; they are not validated again.
  const frame = Object.fromEntries((schema.schema.required ?? []).map((key) => [key, 'x']))
  for (const [key, items] of lists) {
    for (const [i, item] of items.entries()) {
      if (errors.length >= most) return errors
      const wrapped = { ...frame, [key]: [item] }
      const { start = 0, end = 0 } = nodes.at([key, i]) ?? {}
      const found = end - start <= SMALL ? allErrors(wrapped, schema) : firstError(wrapped, schema)
      for (const error of found) {
        const inItem = error.instancePath.startsWith(`/${key}/0`)
        const instancePath = inItem
          ? `/${key}/${i}${error.instancePath.slice(key.length + 3)}`
          : error.instancePath
        errors.push({ ...error, instancePath })
        // An error of the list itself, such as an unknown key, is reported once.
        if (!inItem) return errors
      }
    }
  }
  return errors
}

function allErrors(value: unknown, { validate }: LoadedSchema): ErrorObject[] {
  return validate(value) ? [] : (validate.errors ?? [])
}

function firstError(value: unknown, { validateFirst }: LoadedSchema): ErrorObject[] {
  return validateFirst(value) ? [] : (validateFirst.errors ?? [])
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
