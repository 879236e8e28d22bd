import { isObject } from './jsonrpc.ts'

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
