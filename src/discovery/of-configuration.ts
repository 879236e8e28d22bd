import type { Tool } from '../config/model.ts'
import type { JsonObject } from '../json/index.ts'
import type { SearchableTool } from './fields.ts'

/** A tool of a configuration as it is searched for. */
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

/** What an endpoint says beside its host and its templates. */
function pathOf(endpoint: string): string {
  return endpoint
    .slice(0, 4_000)
    .replace(/\{\{[^{}]*\}\}/g, ' ')
    .replace(/^[a-z]+:\/\/[^/\s]*/i, '')
}
