import type { Tool } from '../config/model.ts'
import { isObject, type Json, type JsonObject } from '../json/index.ts'
import type { SearchableTool } from './tool-texts.ts'

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
