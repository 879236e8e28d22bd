import type { Json, JsonObject } from '../../json/index.ts'
import { isObject, SUPPORTED_VERSIONS } from '../../mcp/index.ts'

/**
 * Repairs declarations of servers, as clients refuse a whole list for one invalid member. A member with a clear meaning
 * is repaired (null is absent, PHP's `[]` is `{}`), any other is omitted.
 */
export type OnFault = (kind: string, name: string, fault: string) => void

type Repair = (value: Json) => Json | undefined
type Fields = Readonly<Record<string, Repair>>

const text: Repair = (value) => (typeof value === 'string' ? value : undefined)
const flag: Repair = (value) => (typeof value === 'boolean' ? value : undefined)
const number: Repair = (value) => (value === null || typeof value === 'object' ? undefined : value)
const list: Repair = (value) => (Array.isArray(value) ? value : undefined)
const object: Repair = (value) => (isEmptyArray(value) ? {} : isObject(value) ? value : undefined)

function isEmptyArray(value: Json | undefined): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Returns the same object if nothing changes; members without a rule are dropped only if null. */
function withFields(given: JsonObject, fields: Fields): JsonObject {
  let changed: JsonObject | undefined
  for (const [key, value] of Object.entries(given)) {
    const meant = value === null ? undefined : Object.hasOwn(fields, key) ? fields[key]!(value) : value
    if (meant === value) continue
    changed ??= { ...given }
    if (meant === undefined) delete changed[key]
    else changed[key] = meant
  }
  return changed ?? given
}

function withEach(items: readonly Json[], repair: Repair): Json[] {
  const meant = items.flatMap((item) => repair(item) ?? [])
  return meant.length === items.length && meant.every((item, i) => item === items[i])
    ? (items as Json[])
    : meant
}

/** Members of JSON schemas that contain schemas. */
const SCHEMA: Fields = {
  properties: (value) => {
    const properties = object(value)
    return isObject(properties) ? withValues(properties, property) : undefined
  },
  required: list,
  description: text,
  title: text,
  items: (value) => (isEmptyArray(value) ? {} : schema(value)),
  anyOf: (value) => (Array.isArray(value) ? withEach(value, schema) : undefined),
  oneOf: (value) => (Array.isArray(value) ? withEach(value, schema) : undefined),
  allOf: (value) => (Array.isArray(value) ? withEach(value, schema) : undefined),
}

function withValues(given: JsonObject, repair: (value: Json) => Json): JsonObject {
  const entries = Object.entries(given).map(([key, value]) => [key, repair(value as Json)] as const)
  return entries.every(([key, value]) => given[key] === value) ? given : Object.fromEntries(entries)
}

function schema(value: Json): Json {
  return isObject(value) ? withFields(value, SCHEMA) : value
}

/** Clients accept only objects here, not the schemas `true` and `false`. */
function property(value: Json): Json {
  if (value === false) return { not: {} }
  return isObject(value) ? schema(value) : {}
}

/** A schema of an object; undefined: a schema of another type. */
function objectSchema(value: Json): JsonObject | undefined {
  const given = object(value)
  if (!isObject(given)) return undefined
  const meant = withFields(given, SCHEMA)
  const { type } = meant
  if (type === 'object') return meant
  const isMeant = type === undefined || (Array.isArray(type) && type.includes('object'))
  return isMeant ? { ...meant, type: 'object' } : undefined
}

const ANNOTATIONS: Fields = {
  title: text,
  readOnlyHint: flag,
  destructiveHint: flag,
  idempotentHint: flag,
  openWorldHint: flag,
}
const annotations: Repair = (value) => {
  const given = object(value)
  return isObject(given) ? withFields(given, ANNOTATIONS) : undefined
}
const COMMON: Fields = { title: text, description: text, annotations: object, icons: list, _meta: object }
const TOOL: Fields = {
  ...COMMON,
  annotations,
  execution: object,
  inputSchema: (value) => (isEmptyArray(value) ? { type: 'object' } : objectSchema(value)),
  outputSchema: (value) => (isEmptyArray(value) ? undefined : objectSchema(value)),
}
const ARGUMENT: Fields = { title: text, description: text, required: flag }
const PROMPT: Fields = {
  ...COMMON,
  arguments: (value) =>
    Array.isArray(value)
      ? withEach(value, (item) =>
          isObject(item) && typeof item.name === 'string' ? withFields(item, ARGUMENT) : undefined,
        )
      : undefined,
}
const RESOURCE: Fields = { ...COMMON, mimeType: text, size: number }

function tool(given: JsonObject): JsonObject | string {
  const { name, inputSchema } = given
  if (typeof name !== 'string') return 'it has no name'
  const meant = withFields(given, TOOL)
  if (meant.inputSchema !== undefined) return meant
  if (inputSchema !== undefined && inputSchema !== null) return 'its inputSchema is not of an object'
  return { ...meant, inputSchema: { type: 'object' } }
}

function prompt(given: JsonObject): JsonObject | string {
  return typeof given.name === 'string' ? withFields(given, PROMPT) : 'it has no name'
}

/** @param key of its address, which also serves as a missing name */
const resource = (key: string) => (given: JsonObject) => {
  const address = given[key]
  if (typeof address !== 'string') return `it has no ${key}`
  const meant = withFields(given, RESOURCE)
  return typeof meant.name === 'string' ? meant : { ...meant, name: address }
}

const ENTRIES: Readonly<Record<string, (given: JsonObject) => JsonObject | string>> = {
  tools: tool,
  prompts: prompt,
  resources: resource('uri'),
  resourceTemplates: resource('uriTemplate'),
}

/** Repairs a page of a list. @param kind the member with the entries */
export function repairedList(kind: string, result: JsonObject, onFault: OnFault): JsonObject {
  const repair = ENTRIES[kind]!
  const given = result[kind]
  // Leave an invalid list as it is, so that the client notices; servers in Go omit an empty one.
  if (!Array.isArray(given) && Object.keys(given ?? {}).length) return result
  const entries = Array.isArray(given) ? given : []
  const meant = withEach(entries, (entry) => {
    const shown = isObject(entry) ? repair(entry) : 'it is no object'
    const name = isObject(entry) ? String(entry.name ?? entry.uri ?? entry.uriTemplate ?? '') : ''
    if (shown !== entry) onFault(kind, name, typeof shown === 'string' ? shown : REPAIRED)
    return typeof shown === 'string' ? undefined : shown
  })
  const cursor: Repair = (value) => (typeof value === 'object' ? undefined : String(value))
  const isCursor = result.nextCursor === undefined || typeof result.nextCursor === 'string'
  const page = withFields(result, { _meta: object, ...(!isCursor && { nextCursor: cursor }) })
  return meant === given ? page : { ...page, [kind]: meant }
}

/** The fault reported for repaired entries. */
export const REPAIRED = 'it was repaired'

/** Repairs the result of a handshake. */
export function repairedHandshake(result: JsonObject): JsonObject {
  const capability: Repair = (value) => {
    const given = object(value)
    return isObject(given) ? withFields(given, {}) : undefined
  }
  const capabilities = object(result.capabilities ?? null)
  const meant = isObject(capabilities)
    ? withFields(capabilities, Object.fromEntries(Object.keys(capabilities).map((key) => [key, capability])))
    : {}
  const supportedVersions: Repair = () => SUPPORTED_VERSIONS.supportedVersions
  const shown = withFields(result, { instructions: text, _meta: object, supportedVersions })
  return meant === result.capabilities ? shown : { ...shown, capabilities: meant }
}
