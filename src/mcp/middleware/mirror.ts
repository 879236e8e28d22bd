import { isObject, type Json, type JsonObject, plain, valueAt } from '../../json/index.ts'
import { shorten } from '../../text/index.ts'
import type { RequestHeaders } from '../context.ts'
import { Fault } from '../fault.ts'
import { listPages } from '../list-pages.ts'
import { HEADER_MISMATCH, type RpcError } from '../protocol.ts'

/** Headers that mirror the body in 2026-07-28 (Streamable HTTP, Request Metadata). */

/** `HeaderMismatchError`. @param fault a sentence */
export function mismatch(fault: string): RpcError {
  return { code: HEADER_MISMATCH, message: `Header mismatch: ${fault}` }
}

/** The member of `params` that `Mcp-Name` repeats, by method. */
const NAMED = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** The value of `Mcp-Name` for a request; undefined: the method has none. */
export function nameOf(method: string, params: JsonObject): Json | undefined {
  const key = NAMED.get(method)
  return key === undefined ? undefined : params[key]
}

/** The mismatch of `Mcp-Method` or `Mcp-Name`, as a sentence; undefined if they match. */
export function checkStandardHeaders(
  headers: RequestHeaders,
  method: string,
  params: JsonObject,
): string | undefined {
  const sent = headers['mcp-method']
  if (sent === undefined) return 'the Mcp-Method header is missing'
  if (sent !== method)
    return `Mcp-Method header value ${quote(sent)} does not match body value ${quote(method)}`
  const expected = nameOf(method, params)
  if (typeof expected !== 'string') return undefined
  const name = headers['mcp-name']
  // The tasks extension lets clients omit it.
  if (name === undefined) return NAMED.get(method) === 'taskId' ? undefined : 'the Mcp-Name header is missing'
  const value = decodeHeaderValue(name)
  if (value === undefined) return 'the Mcp-Name header is not valid Base64'
  if (value === expected) return undefined
  return `Mcp-Name header value ${quote(value)} does not match body value ${quote(expected)}`
}

/** The mismatch of an `Mcp-Param-*` header of a tool call, as a sentence. */
export function checkParamHeaders(
  headers: RequestHeaders,
  declared: readonly ParamHeader[],
  args: unknown,
): string | undefined {
  for (const { path, header } of declared) {
    const value = mirroredValue(args, path)
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

/** The argument that a header mirrors. */
export function mirroredValue(args: unknown, path: readonly string[]): Json | undefined {
  const value = valueAt(args, path)
  return value === undefined ? undefined : plain(value)
}

/** A header value without its Base64 sentinel; undefined if malformed. */
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

/** Keywords of JSON Schema that hold one schema or a list, and those that hold schemas by name. */
const ONE_OR_LIST =
  'items prefixItems contains additionalProperties unevaluatedProperties unevaluatedItems propertyNames oneOf anyOf allOf not if then else contentSchema'.split(
    ' ',
  )
const BY_NAME = ['patternProperties', 'dependentSchemas', '$defs', 'definitions']
const INNER = [...ONE_OR_LIST, ...BY_NAME]

/** An `x-mcp-header` of an input schema (2026-07-28, Custom Headers from Tool Parameters). */
export interface ParamHeader {
  /** Keys from the arguments object to the value. */
  path: readonly string[]
  /** Header name in lower case, `mcp-param-…`. */
  header: string
}

/** The `x-mcp-header` declarations of an input schema. */
interface Declared {
  /** Only declarations reached through `properties` alone. */
  headers: ParamHeader[]
  /** The first faulty declaration, as a sentence. */
  fault: string | undefined
}

/**
 * The `x-mcp-header` declarations of an input schema. Clients over streamable HTTP omit a tool with a faulty one
 * (2026-07-28, Custom Headers from Tool Parameters).
 */
function readDeclarations(inputSchema: unknown): Declared {
  const found = new Map<string, ParamHeader>()
  const faults: string[] = []
  // A list instead of recursion, because the server chooses the schema's depth.
  const todo: { schema: unknown; path: readonly string[] | undefined }[] = [{ schema: inputSchema, path: [] }]
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { schema, path } = next
    if (!isObject(schema)) continue
    if ('x-mcp-header' in schema) {
      const name = schema['x-mcp-header']
      const header = `mcp-param-${typeof name === 'string' ? name.toLowerCase() : ''}`
      if (!path?.length)
        faults.push('x-mcp-header is valid only on a value that is reached through `properties`')
      else if (typeof name !== 'string' || !TOKEN.test(name))
        faults.push('x-mcp-header is not the name of a header')
      else if (!TYPES.has(schema.type))
        faults.push(`x-mcp-header ${name} is not of a string, integer or boolean`)
      else if (found.has(header)) faults.push(`x-mcp-header ${name} is there twice`)
      else found.set(header, { path, header })
    }
    for (const [key, each] of Object.entries(isObject(schema.properties) ? schema.properties : {}))
      todo.push({ schema: each, path: path && [...path, key] })
    for (const key of INNER) {
      const value = schema[key]
      if (value === undefined) continue
      const inner = isObject(value) && BY_NAME.includes(key) ? Object.values(value) : [value].flat()
      for (const each of inner) todo.push({ schema: each, path: undefined })
    }
  }
  return { headers: [...found.values()], fault: faults[0] }
}

/** The fault in the `x-mcp-header` declarations of an input schema, as a sentence; undefined if they are valid. */
export function paramHeaderFault(inputSchema: unknown): string | undefined {
  return readDeclarations(inputSchema).fault
}

/** Headers that mirror arguments; empty if any declaration is faulty. */
export function declaredParamHeaders(inputSchema: unknown): readonly ParamHeader[] {
  const { headers, fault } = readDeclarations(inputSchema)
  return fault === undefined ? headers : []
}

/** Requests a page of `tools/list`. */
type AskPage = (params: { cursor?: string }) => Promise<JsonObject | Fault>

/** The mirrored arguments of a server's tools, read from its tool lists. */
export interface ParamHeaderTable {
  /** Reads a `tools/list` result. */
  learn(result: Json | undefined): void
  forget(): void
  /** Headers of a tool; the complete list is read if the tool is unknown. */
  of(tool: string, ask: AskPage): Promise<readonly ParamHeader[]>
}

/** Maximum number of tools remembered for one server. */
const MAX_TOOLS = 100_000

/**
 * A `tools/list` result without the tools that clients over streamable HTTP must omit (2026-07-28, Custom Headers from
 * Tool Parameters); `onFault` is called for each.
 */
export function withoutFaulty(result: Json, onFault: (tool: string, fault: string) => void): Json {
  if (!isObject(result) || !Array.isArray(result.tools)) return result
  const tools = result.tools.filter((tool) => {
    const fault = isObject(tool) ? paramHeaderFault(tool.inputSchema) : undefined
    if (fault !== undefined) onFault(String((tool as JsonObject).name), fault)
    return fault === undefined
  })
  return tools.length === result.tools.length ? result : { ...result, tools }
}

export function createParamHeaders(): ParamHeaderTable {
  const known = new Map<string, readonly ParamHeader[]>()
  let complete: Promise<void> | undefined

  function learn(result: Json | undefined): void {
    if (!isObject(result) || !Array.isArray(result.tools)) return
    for (const tool of result.tools)
      if (isObject(tool) && typeof tool.name === 'string' && (known.size < MAX_TOOLS || known.has(tool.name)))
        known.set(tool.name, declaredParamHeaders(tool.inputSchema))
  }

  async function fetchAll(ask: AskPage): Promise<void> {
    for await (const response of listPages(ask)) if (!(response instanceof Fault)) learn(response.result)
  }

  return {
    learn,
    forget() {
      known.clear()
      complete = undefined
    },
    async of(tool, ask) {
      const found = known.get(tool)
      if (found) return found
      complete ??= fetchAll(ask)
      await complete
      return known.get(tool) ?? []
    },
  }
}
