import type { Json, JsonObject } from '../json/index.ts'
import type { Configuration, Router, Tool } from './model.ts'
import { loadSchema, type SchemaName } from './schemas.ts'
import type { SchemaNode } from './shape.ts'
import { TRANSPORTS } from './transports.ts'

/** Converts a value that a schema has accepted to its type in `generated.ts`. */
type Fill = (value: Json) => Json | undefined

const fills = new Map<SchemaName, Fill>()

/** A value that its schema has accepted, with defaults, converted units, and without keys of the author's own. */
export function withDefaults(name: SchemaName, value: Json): JsonObject {
  let fill = fills.get(name)
  if (!fill) {
    const { schema } = loadSchema(name)
    fill = fillOf(schema, schema) ?? ((given) => given)
    fills.set(name, fill)
  }
  return fill(value) as JsonObject
}

/** Undefined: the value stays as it is. */
function fillOf(schema: SchemaNode, root: SchemaNode): Fill | undefined {
  const { $ref, additionalProperties, items, properties, 'x-model': model } = schema
  if ($ref) return fillOf(root.$defs![$ref.replace('#/$defs/', '')]!, root)
  if (model === 'json') return undefined
  if (model === 'duration' || model === 'size') {
    const parse = model === 'duration' ? parseDuration : parseSize
    return (value) => parse(String(value))
  }
  if (properties) return objectFill(schema, root)
  const part = items ?? additionalProperties
  const fill = typeof part === 'object' ? fillOf(part, root) : undefined
  if (!fill) return undefined
  if (items) return (value) => (Array.isArray(value) ? value.map((item) => fill(item) ?? null) : value)
  return (value) => {
    const entries = Object.entries(value as JsonObject).map(([key, one]) => [key, fill(one) ?? null])
    return Object.fromEntries(entries) as JsonObject
  }
}

function objectFill(
  { properties = {}, required: [first = ''] = [], 'x-model': model }: SchemaNode,
  root: SchemaNode,
): Fill {
  const fields = Object.entries(properties).map(([key, member]) => {
    const fill = fillOf(member, root)
    const written = member.default as Json | undefined
    const hasDefault = written !== undefined && model !== 'partial'
    return { key, fill, fallback: () => (hasDefault ? (fill?.(written) ?? written) : undefined) }
  })
  return (value) => {
    // A string stands for an object with the required field.
    const given = typeof value === 'string' ? { [first]: value } : (value as JsonObject)
    const built: JsonObject = {}
    for (const { key, fill, fallback } of fields) {
      const one = given[key]
      const made = (one === undefined || !fill ? one : fill(one)) ?? fallback()
      if (made !== undefined) built[key] = made
    }
    return built
  }
}

/** The model of a value that the schema has accepted. Defaults of arguments are parsed by `readArguments`. */
export function buildConfiguration(value: Json): Configuration {
  const configuration = withDefaults('configuration', value) as unknown as Configuration
  for (const router of configuration.routers) buildRouter(router)
  for (const tool of configuration.tools) buildTool(tool)
  for (const server of configuration.mcpServers) server.maxSessions ??= TRANSPORTS[server.type].maxSessions
  return configuration
}

function buildRouter({ auth, cors }: Router) {
  for (const [i, entry] of auth?.tokens.entries() ?? []) entry.caller ??= `caller-${i + 1}`
  if (cors) cors.allowMethods = cors.allowMethods.map((method) => method.toUpperCase())
}

function buildTool(tool: Tool) {
  tool.method = tool.method.toUpperCase()
  // Exports of databases have every key, with an empty string for a missing value.
  for (const key of ['requestBody', 'responseBody', 'errorBody'] as const) if (!tool[key]) delete tool[key]
  for (const key of ['inputSchema', 'outputSchema'] as const) {
    const schema = tool[key]
    // MCP requires `type: object` at the top of a tool's schema; `properties` implies it.
    if (schema && schema.type === undefined && schema.properties !== undefined)
      tool[key] = { type: 'object', ...schema }
  }
}

const DURATIONS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const KIB = 1024
const SIZES: Record<string, number> = {
  '': 1,
  B: 1,
  kB: 1000,
  KB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  KiB: KIB,
  MiB: KIB ** 2,
  GiB: KIB ** 3,
}

/** `600s`, `10m`, `500ms`, `1h30m`; a plain number is seconds. Milliseconds; undefined for another text. */
export function parseDuration(text: string): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000)
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) return undefined
  let sum = 0
  for (const [, amount, unit] of text.matchAll(/(?<![\d.])(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    sum += Number(amount) * DURATIONS[unit!]!
  }
  return Math.round(sum)
}

/** `4MiB`, `10MB`; a plain number is bytes. Bytes; undefined for another text. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?) ?([kKMG]i?B|B|)$/.exec(text)
  const unit = match && SIZES[match[2]!]
  return unit ? Math.floor(Number(match[1]) * unit) : undefined
}
