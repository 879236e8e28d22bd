import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { firstSentence } from './sentence.ts'
import { stemsOf } from './words.ts'

/** What a tool is found by. */
export interface SearchableTool {
  name: string
  title?: string | undefined
  description?: string | undefined
  /** Further words that people use for it. */
  keywords?: readonly string[] | undefined
  /** What it belongs to. */
  group?: string | undefined
  /** Of the HTTP request, where there is one; arguments of the path as `{name}`, or as templates. */
  method?: string | undefined
  path?: string | undefined
  inputSchema?: JsonObject | undefined
}

/** How much a word counts where it stands, and how much that of long ones is divided (BM25F's b). */
interface Field {
  weight: number
  b: number
}

export const FIELDS = {
  name: { weight: 2.1, b: 0.7 },
  keywords: { weight: 4, b: 0.2 },
  title: { weight: 3, b: 0.5 },
  /** The first sentence of the description. */
  summary: { weight: 2.5, b: 0.8 },
  description: { weight: 0.6, b: 0.5 },
  path: { weight: 1.7, b: 0.7 },
  method: { weight: 1.1, b: 0 },
  group: { weight: 0.5, b: 0.3 },
  argument: { weight: 0.5, b: 0.75 },
  argumentText: { weight: 0.15, b: 0.75 },
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
/** Schemas of a tool that are looked at, nested ones included, and words of one field. */
const MAX_SCHEMAS = 400
const MAX_DEPTH = 6
const MAX_VALUES = 50
const MAX_WORDS = 2_000

/** The stems of each field, as a bounded list. */
export function stemsByField(tool: SearchableTool): Record<FieldName, string[]> {
  const { name, title = '', description = '', keywords = [], group = '', method = '', path = '' } = tool
  const [summary, rest] = firstSentence(description)
  const argument: string[] = []
  const argumentText: string[] = []
  addSchema(tool.inputSchema, argument, argumentText)
  return {
    name: stemsOf(name),
    keywords: keywords.slice(0, MAX_VALUES).flatMap((text) => stemsOf(text)),
    title: stemsOf(title),
    summary: stemsOf(summary),
    description: stemsOf(rest),
    // Arguments in the path are named by their own field.
    path: stemsOf(path.replace(/\{[^{}]*\}+/g, ' ')),
    method: stemsOf(METHOD_WORDS[method.toUpperCase()] ?? ''),
    group: stemsOf(group),
    argument,
    argumentText,
  }
}

/** The names of arguments, and what is said of them, breadth first: what stands nearest to the root says most. */
function addSchema(root: JsonObject | undefined, names: string[], texts: string[]): void {
  let level: Json[] = root ? [root] : []
  let left = MAX_SCHEMAS
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const next: Json[] = []
    for (const schema of level) {
      if (left-- <= 0 || names.length > MAX_WORDS || texts.length > MAX_WORDS) return
      if (!isObject(schema)) continue
      const { properties, items, enum: values, description } = schema
      if (depth > 0 && typeof description === 'string') add(texts, description)
      if (Array.isArray(values))
        for (const value of values.slice(0, MAX_VALUES)) if (typeof value === 'string') add(texts, value)
      if (isObject(properties))
        for (const [name, inner] of Object.entries(properties).slice(0, left)) {
          add(names, name)
          next.push(inner)
        }
      for (const inner of [items, schema.anyOf, schema.oneOf, schema.allOf].flat())
        if (inner !== undefined && next.length < left) next.push(inner)
    }
    level = next
  }
}

function add(to: string[], text: string): void {
  for (const one of stemsOf(text)) to.push(one)
}
