import type { Tool } from '../config/model.ts'
import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { firstSentence } from './signature.ts'

/** Searchable texts of a tool. */
export interface SearchableTool {
  name: string
  title?: string | undefined
  description?: string | undefined
  /** Further words that people use for it. */
  keywords?: readonly string[] | undefined
  /** The group it belongs to. */
  group?: string | undefined
  /** Method and path of the HTTP request, if any; arguments in the path as `{name}`, or as templates. */
  method?: string | undefined
  path?: string | undefined
  inputSchema?: JsonObject | undefined
}

/** The weight of a word in a field, and how much the length of the field reduces it (BM25F's b). */
interface Field {
  weight: number
  b: number
}

export const FIELDS = {
  name: { weight: 1, b: 0.9 },
  keywords: { weight: 3, b: 0.2 },
  title: { weight: 1.5, b: 0.5 },
  /** The first sentence of the description. */
  summary: { weight: 2.5, b: 1 },
  description: { weight: 0.45, b: 0.2 },
  path: { weight: 0.9, b: 0.9 },
  method: { weight: 1.4, b: 0 },
  group: { weight: 0.35, b: 0.3 },
  argument: { weight: 0.15, b: 0.75 },
  argumentText: { weight: 0.3, b: 0.6 },
} as const satisfies Record<string, Field>

export type FieldName = keyof typeof FIELDS
export const FIELD_NAMES = Object.keys(FIELDS) as FieldName[]

/** Verbs that people use for what a method does. */
const METHOD_WORDS: Readonly<Record<string, string>> = {
  GET: 'get list read',
  HEAD: 'check',
  POST: 'create add',
  PUT: 'update set replace',
  PATCH: 'update edit',
  DELETE: 'delete remove',
}
/** Maximum keywords, and maximum values or alternatives of one schema. */
const MAX_VALUES = 50

/** The texts of a tool, by field. */
export type Texts = Record<FieldName, readonly string[]>

export function textsByField(tool: SearchableTool): Texts {
  const { name, title = '', description = '', keywords = [], group = '', method = '', path = '' } = tool
  const [summary, rest] = firstSentence(description)
  const { names, texts } = schemaTexts(tool.inputSchema)
  return {
    name: [name],
    keywords: keywords.slice(0, MAX_VALUES),
    title: [title],
    summary: [summary],
    description: [rest],
    // Arguments in the path are named by their own field.
    path: [path.replace(/\{[^{}]*\}+/g, ' ')],
    method: [METHOD_WORDS[method.toUpperCase()] ?? ''],
    group: [group],
    argument: names,
    argumentText: texts,
  }
}

/** Names and descriptions of arguments, breadth first, because the outer ones say most. */
function schemaTexts(root: JsonObject | undefined): { names: string[]; texts: string[] } {
  const names: string[] = []
  const texts: string[] = []
  let left = 50_000
  const add = (to: string[], text: unknown) => {
    if (typeof text !== 'string' || left <= 0) return
    to.push(text.slice(0, left))
    left -= text.length
  }
  let budget = 400
  let level: Json[] = root ? [root] : []
  for (let depth = 0; depth < 6 && level.length > 0; depth++) {
    const next: Json[] = []
    for (const schema of level) {
      if (budget-- <= 0) break
      if (!isObject(schema)) continue
      const { properties, items, enum: values, description, anyOf, oneOf, allOf } = schema
      if (depth > 0) add(texts, description)
      if (Array.isArray(values)) for (const value of values.slice(0, MAX_VALUES)) add(texts, value)
      for (const [name, inner] of isObject(properties) ? Object.entries(properties).slice(0, budget) : []) {
        add(names, name)
        next.push(inner)
      }
      for (const inner of [items, anyOf, oneOf, allOf])
        if (Array.isArray(inner)) next.push(...inner.slice(0, MAX_VALUES))
        else if (inner !== undefined) next.push(inner)
    }
    level = next.slice(0, budget)
  }
  return { names, texts }
}

/** A tool of a configuration, as searched. */
export function searchable(
  { name, title, description, keywords, group, method, endpoint, args, inputSchema }: Tool,
  server?: string,
): SearchableTool {
  return {
    name,
    title,
    description,
    keywords,
    group: group ?? server,
    method,
    path: pathOf(endpoint),
    inputSchema:
      inputSchema ??
      ({ properties: Object.fromEntries(args.map((arg) => [arg.name, arg])) } as unknown as JsonObject),
  }
}

/** The path of an endpoint without templates. */
function pathOf(endpoint: string): string {
  return endpoint
    .slice(0, 4_000)
    .replace(/\{\{[^{}]*\}\}/g, ' ')
    .replace(/^[a-z]+:\/\/[^/\s]*/i, '')
}

/** A tool as listed by an MCP server, with the configuration's additions. */
export function declared(
  tool: Json,
  { group, keywords }: { group?: string | undefined; keywords?: readonly string[] | undefined } = {},
): SearchableTool {
  const { name, title, description, inputSchema } = isObject(tool) ? tool : ({} as JsonObject)
  const text = (value: Json | undefined) => (typeof value === 'string' ? value : undefined)
  return {
    name: text(name) ?? '',
    title: text(title),
    description: text(description),
    keywords,
    group,
    inputSchema: isObject(inputSchema) ? inputSchema : undefined,
  }
}
