import type { ErrorObject } from 'ajv'
import type { Json, JsonObject } from '../json/index.ts'
import type { LoadedSchema } from './schemas.ts'
import type { Nodes } from './yaml/locate.ts'

/** Up to so many characters all errors of a value are collected at once: that takes time by their square. */
const SMALL = 128 * 1024

/**
 * All errors of a value by its schema. Of a large file the items of its lists are validated one by one, until
 * there are `most` errors, and of a single large item only the first error is told.
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
  // What has the form of a whole configuration around each item; its name is not looked at again.
  const frame = Object.fromEntries((schema.schema.required ?? []).map((key) => [key, 'x']))
  for (const [key, items] of lists) {
    for (const [i, item] of items.entries()) {
      if (errors.length >= most) return errors
      const wrapped = { ...frame, [key]: [item] }
      const [start = 0, end = 0] = nodes.at([key, i])?.range ?? []
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
