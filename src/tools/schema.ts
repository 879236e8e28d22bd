import { type Arg, DEFAULT_LIMITS, hasTemplate, type Tool } from '../config/model.ts'
import { isObject, type JsonObject } from '../json/index.ts'
import type { Shaping } from '../json/shaping/index.ts'
import type { ToolDefinition } from './types.ts'

/** Form parts that the gateway accepts: a text, or a file in two forms. */
export const TEXT_OR_FILE: JsonObject[] = [
  { type: 'string', description: 'Text, or a file as a data: URI' },
  {
    type: 'object',
    description: 'A file: base64 data with its name and media type',
    properties: {
      filename: { type: 'string' },
      contentType: { type: 'string', description: 'Media type, such as image/png' },
      data: { type: 'string', description: 'Base64' },
    },
    required: ['data'],
    additionalProperties: false,
  },
]

/** Hint for clients about the size of results. */
export const RESULT_SIZE = 'anthropic/maxResultSizeChars'

/** The tool as listed by `tools/list`. @param shaping absent: answers are not shaped */
export function toolDefinition(tool: Tool, shaping?: Shaping): ToolDefinition {
  const definition: ToolDefinition = {
    name: tool.name,
    inputSchema: tool.inputSchema ?? inputSchema(tool.args),
  }
  if (shaping?.hasFields) definition.inputSchema = withFields(definition.inputSchema)
  if (tool.title !== undefined) definition.title = tool.title
  if (tool.description !== undefined) definition.description = tool.description
  // With a template, the schema describes the template's output.
  if (tool.outputSchema)
    definition.outputSchema = outputSchema(tool.outputSchema, hasTemplate(tool) ? undefined : shaping)
  if (tool.annotations) definition.annotations = tool.annotations
  // A member of 2025-11-25; in other revisions the gateway decides.
  if (tool.async) definition.execution = { taskSupport: 'optional' }
  const size = shaping && shaping.maxChars !== DEFAULT_LIMITS.resultChars
  if (tool.meta || size) definition._meta = { ...(size && { [RESULT_SIZE]: shaping.maxChars }), ...tool.meta }
  return definition
}

/** The argument with which a call selects parts of the response. */
export const FIELDS = 'fields'

function withFields(schema: JsonObject): JsonObject {
  const fields = {
    type: 'string',
    description:
      'The members of the response that you need, to save tokens: paths with commas between them, such as `total, items[].{id, user.login}`. Omit it for all of them.',
    maxLength: 2_000,
  }
  return {
    ...schema,
    properties: { ...(isObject(schema.properties) && schema.properties), [FIELDS]: fields },
  }
}

/** The schema of structured content. @param shaping absent: none */
export function outputSchema(schema: JsonObject, shaping?: Shaping): JsonObject {
  if (!shaping) return wrapOutput(schema)
  const shaped = shaping.schemaOf(schema)
  return isObjectSchema(schema) ? { type: 'object', ...shaped } : wrapOutput(shaped)
}

/**
 * The JSON Schema 2020-12 of a tool's arguments. Unknown arguments are refused, so that a misspelt one is not silently
 * lost.
 */
function inputSchema(all: Arg[]): JsonObject {
  const args = all.filter((arg) => arg.const === undefined)
  const schema: JsonObject = {
    type: 'object',
    properties: Object.fromEntries(args.map((arg) => [arg.name, argSchema(arg)])),
  }
  const required = args.filter((arg) => arg.required).map((arg) => arg.name)
  if (required.length > 0) schema.required = required
  schema.additionalProperties = false
  return schema
}

function argSchema(arg: Arg): JsonObject {
  const schema: JsonObject = {}
  const files = arg.position === 'form-data' && !arg.enum
  if (files && arg.type === 'string') schema.anyOf = TEXT_OR_FILE
  else schema.type = arg.type
  if (arg.description !== undefined) schema.description = arg.description
  if (arg.default !== undefined) schema.default = arg.default
  if (arg.enum) schema.enum = arg.enum
  if (arg.type === 'array' && arg.items) {
    const items = normalise(arg.items)
    if (files && items.type === 'string' && !items.enum) {
      const { type: _, ...rest } = items
      schema.items = { ...rest, anyOf: TEXT_OR_FILE }
    } else schema.items = items
  }
  if (arg.type === 'object' && arg.properties)
    schema.properties = normalise({ properties: arg.properties }).properties!
  return schema
}

/** Adds the types implied by `properties` and `items`, at every depth. */
function normalise(schema: JsonObject): JsonObject {
  const result = { ...schema }
  if (isObject(schema.properties)) {
    const entries = Object.entries(schema.properties)
    result.type ??= 'object'
    result.properties = Object.fromEntries(
      entries.map(([name, property]) => [name, isObject(property) ? normalise(property) : property]),
    )
  }
  if (isObject(schema.items)) {
    result.type ??= 'array'
    result.items = normalise(schema.items)
  }
  return result
}

/**
 * Structured content is an object in every session-based revision, so other types are wrapped as the property `result`,
 * as is their schema.
 */
function wrapOutput(schema: JsonObject): JsonObject {
  if (isObjectSchema(schema)) return schema
  const { $defs, $schema, ...rest } = schema
  const wrapped: JsonObject = { type: 'object', properties: { result: rest }, required: ['result'] }
  if ($schema !== undefined) wrapped.$schema = $schema
  if ($defs !== undefined) wrapped.$defs = $defs
  return wrapped
}

/** Whether a schema describes only objects, by its `type`. */
export function isObjectSchema(schema: JsonObject): boolean {
  return schema.type === 'object'
}
