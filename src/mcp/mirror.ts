import { isObject, type JsonObject, valueAt } from '../json/index.ts'
import { shorten } from '../text/index.ts'
import type { ParamHeader } from './backend.ts'
import type { RequestHeaders } from './http.ts'

/** Headers that mirror the body in 2026-07-28 (Streamable HTTP, Request Metadata). */

const NAMED: Record<string, string> = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' }
/** Methods of the tasks extension, whose `Mcp-Name` is checked when there is one. */
const TASKS = new Set(['tasks/get', 'tasks/update', 'tasks/cancel'])

/** What is wrong with `Mcp-Method` and `Mcp-Name`, as a sentence; undefined when they match. */
export function checkStandardHeaders(
  headers: RequestHeaders,
  method: string,
  params: JsonObject,
): string | undefined {
  const sent = headers['mcp-method']
  if (sent === undefined) return 'the Mcp-Method header is missing'
  if (sent !== method)
    return `Mcp-Method header value ${quote(sent)} does not match body value ${quote(method)}`
  const task = TASKS.has(method)
  const key = task ? 'taskId' : Object.hasOwn(NAMED, method) ? (NAMED[method] as string) : undefined
  const expected = key && params[key]
  if (typeof expected !== 'string') return undefined
  const name = headers['mcp-name']
  if (name === undefined) return task ? undefined : 'the Mcp-Name header is missing'
  const value = decodeHeaderValue(name)
  if (value === undefined) return 'the Mcp-Name header is not valid Base64'
  if (value === expected) return undefined
  return `Mcp-Name header value ${quote(value)} does not match body value ${quote(expected)}`
}

/** What is wrong with the `Mcp-Param-*` headers of a tool call, as a sentence. */
export function checkParamHeaders(
  headers: RequestHeaders,
  declared: readonly ParamHeader[],
  args: unknown,
): string | undefined {
  for (const { path, header } of declared) {
    const value = valueAt(args, path)
    const sent = headers[header]
    if (value === undefined || value === null) {
      if (sent !== undefined) return `the ${header} header has no value in the body`
      continue
    }
    if (sent === undefined) return `the ${header} header is missing`
    const decoded = decodeHeaderValue(sent)
    if (decoded === undefined) return `the ${header} header is not valid`
    const same = typeof value === 'number' ? Number(decoded) === value : decoded === String(value)
    if (!same) return `the ${header} header does not match the body`
  }
  return undefined
}

/** Finds the `x-mcp-header` declarations of an input schema: along chains of `properties` only. */
export function declaredParamHeaders(schema: unknown, path: readonly string[] = []): ParamHeader[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties } = schema as { properties?: Record<string, unknown> }
  if (typeof properties !== 'object' || properties === null) return []
  return Object.entries(properties).flatMap(([key, property]) => {
    const at = [...path, key]
    const name = (property as { 'x-mcp-header'?: unknown } | null)?.['x-mcp-header']
    const own =
      typeof name === 'string' && name ? [{ path: at, header: `mcp-param-${name.toLowerCase()}` }] : []
    return [...own, ...declaredParamHeaders(property, at)]
  })
}

/** A header value after the Base64 sentinel is taken off; undefined when it is not well-formed. */
function decodeHeaderValue(value: string): string | undefined {
  if (/[^\t\x20-\x7e]/.test(value)) return undefined
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value
  const encoded = value.slice('=?base64?'.length, -'?='.length)
  const bytes = Buffer.from(encoded, 'base64')
  // Node decodes leniently; only the canonical spelling is Base64 (RFC 4648, 3.5).
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : undefined
}

function quote(value: string): string {
  return `'${shorten(value, 80)}'`
}

const TYPES = new Set<unknown>(['string', 'integer', 'boolean'])
/** RFC 9110, 5.6.2. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/

/** Keywords of JSON Schema that hold a schema or a list of them, and those that hold schemas by name. */
const ONE_OR_LIST =
  'items prefixItems contains additionalProperties unevaluatedProperties unevaluatedItems propertyNames oneOf anyOf allOf not if then else contentSchema'.split(
    ' ',
  )
const BY_NAME = ['patternProperties', 'dependentSchemas', '$defs', 'definitions']

/**
 * What is wrong with the `x-mcp-header` declarations of an input schema, as a sentence; undefined when nothing
 * is. Clients over streamable HTTP leave such a tool out (2026-07-28, Custom Headers from Tool Parameters).
 */
export function paramHeaderFault(inputSchema: unknown): string | undefined {
  const names = new Set<string>()
  // A list, not recursion: how deep a schema goes is up to the server.
  const todo: { schema: unknown; property: boolean; reachable: boolean }[] = [
    { schema: inputSchema, property: false, reachable: true },
  ]
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { schema, property, reachable } = next
    if (!isObject(schema)) continue
    if ('x-mcp-header' in schema) {
      const name = schema['x-mcp-header']
      if (!property) return 'x-mcp-header stands where no chain of properties leads'
      if (typeof name !== 'string' || !TOKEN.test(name)) return 'x-mcp-header is not the name of a header'
      if (!TYPES.has(schema.type)) return `x-mcp-header ${name} is not of a string, integer or boolean`
      if (names.has(name.toLowerCase())) return `x-mcp-header ${name} is there twice`
      names.add(name.toLowerCase())
    }
    for (const each of isObject(schema.properties) ? Object.values(schema.properties) : [])
      todo.push({ schema: each, property: reachable, reachable })
    for (const key of [...ONE_OR_LIST, ...BY_NAME]) {
      const value = schema[key]
      const inner = isObject(value) && BY_NAME.includes(key) ? Object.values(value) : [value].flat()
      for (const each of inner) todo.push({ schema: each, property: false, reachable: false })
    }
  }
  return undefined
}
