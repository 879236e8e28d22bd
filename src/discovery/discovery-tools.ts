import type { JsonObject } from '../json/index.ts'

/** The gateway's own tools that find, describe and call tools. */

export const SEARCH = 'search_tools'
export const DESCRIBE = 'describe_tools'
export const CALL_READ = 'call_read_tool'
export const CALL = 'call_tool'

/** Reserved names of tools when searching. */
export const DISCOVERY_TOOLS: ReadonlySet<string> = new Set([SEARCH, DESCRIBE, CALL_READ, CALL])

export const MAX_QUERIES = 5
/** Results of a search without `limit`. */
export const DEFAULT_RESULTS = 6
export const MAX_RESULTS = 20
export const MAX_DESCRIBED = 10

const READS = { readOnlyHint: true, openWorldHint: false }
const WRITES = { readOnlyHint: false, destructiveHint: true, openWorldHint: true }

/** Their definitions for `tools/list`. @param overview of the searchable tools */
export function discoveryTools(overview: string): JsonObject[] {
  return [
    {
      name: SEARCH,
      title: 'Search tools',
      description: `Finds tools by what they do. Most tools are not in the list: search before you conclude that something cannot be done. Give two or three phrasings in \`queries\`, each a verb and a noun in the API's own words ("create pull request", "merge branch"). Each result is a line: \`name(argument: type, optional?: type) – what it does\`. Then call the tool with ${CALL_READ} if its line ends with "(read-only)", otherwise with ${CALL}; ${DESCRIBE} has the full definitions.\n\n${overview}`,
      inputSchema: {
        type: 'object',
        properties: {
          queries: {
            type: 'array',
            items: { type: 'string' },
            minItems: 1,
            maxItems: MAX_QUERIES,
            description: 'Several phrasings of what to look for; their results are merged by rank',
          },
          query: { type: 'string', description: 'One phrasing, instead of `queries`' },
          group: { type: 'string', description: 'Only tools of this group or server' },
          limit: {
            type: 'integer',
            minimum: 1,
            maximum: MAX_RESULTS,
            default: DEFAULT_RESULTS,
            description: 'Results at most',
          },
        },
        additionalProperties: false,
      },
      annotations: READS,
    },
    {
      name: DESCRIBE,
      title: 'Describe tools',
      description: `Full definitions of tools: descriptions, JSON Schemas of arguments and results, annotations. For arguments that the lines of ${SEARCH} do not explain.`,
      inputSchema: {
        type: 'object',
        properties: {
          names: {
            type: 'array',
            items: { type: 'string' },
            minItems: 1,
            maxItems: MAX_DESCRIBED,
            description: `Names of tools, as ${SEARCH} shows them`,
          },
        },
        required: ['names'],
        additionalProperties: false,
      },
      annotations: READS,
    },
    {
      name: CALL_READ,
      title: 'Call a read-only tool',
      description: `Calls a tool that only reads: one whose line ends with "(read-only)" in the results of ${SEARCH}.`,
      inputSchema: CALL_SCHEMA,
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    {
      name: CALL,
      title: 'Call a tool',
      description: `Calls a tool that may change something. For read-only tools use ${CALL_READ}.`,
      inputSchema: CALL_SCHEMA,
      annotations: WRITES,
    },
  ]
}

const CALL_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string', description: `The name of the tool, as ${SEARCH} shows it` },
    arguments: {
      anyOf: [{ type: 'object' }, { type: 'string' }],
      description: 'The arguments of the tool: an object, or its JSON text. Default: none',
    },
  },
  required: ['name'],
  additionalProperties: false,
}
