import { type Json, type JsonObject, stringify } from '../json/index.ts'

/**
 * What becomes of a faulty or missing value in a configuration that is only looked at for further findings:
 * another value in its place, or the map or list that many keys deep is left out with all that it holds.
 */
type Cure = { fill: (holder: JsonObject, around: Around) => Json } | { without: number }

/** What a value may be made of, beside what stands next to it. */
export interface Around {
  file: string
  /** Names that templates read behind `.Config`. */
  configNames: () => readonly string[]
}

const fill = (value: Json): Cure => ({ fill: () => value })
/** Says nothing, and counts as using every argument: what used which is not known. */
const TEMPLATE = '{{with .Args}}{{end}}'
const content = (): JsonObject => ({ type: 'text', text: TEMPLATE })

/** By JSON pointer; what no rule names is left out by itself. */
const CURES: [RegExp, Cure][] = [
  // Unique, as the path of the file is.
  [/^\/name$/, { fill: (_holder, { file }) => file }],
  [/^\/(?:servers|mcpServers|tools|prompts|tools\/\d+\/args)\/\d+\/name$/, fill('unnamed')],
  [/^\/routers\/\d+\/server$/, fill('unnamed')],
  [/^\/routers\/\d+\/prefix$/, fill('/unnamed')],
  [/^\/routers\/\d+\/auth(?:\/|$)/, { without: 3 }],
  // Without a server the tools would have no `.Config`.
  [/^\/servers$/, { fill: (_holder, around) => [serverOf(around)] }],
  [/^\/servers\/\d+$/, { fill: (_holder, around) => serverOf(around) }],
  [/^\/servers\/\d+\/config$/, { fill: (_holder, { configNames }) => configOf(configNames()) }],
  [/^\/servers\/\d+\/config\/[^/]*$/, fill('http://localhost')],
  [/^\/tools\/\d+\/endpoint$/, fill(`http://localhost/${TEMPLATE}`)],
  // With GET a body would be another mistake.
  [/^\/tools\/\d+\/method$/, fill('POST')],
  // That the type of the body is not known keeps it from being read as JSON.
  [/^\/tools\/\d+\/headers$/, { fill: () => ({ 'Content-Type': TEMPLATE }) }],
  [/^\/tools\/\d+\/headers\/[^/]*$/, fill(TEMPLATE)],
  [/^\/tools\/\d+\/(?:request|response|error)Body$/, fill(TEMPLATE)],
  [/^\/tools\/\d+\/inputSchema$/, { fill: () => ({ type: 'object' }) }],
  [/^\/tools\/\d+\/proxy(?:\/|$)/, { without: 3 }],
  [/^\/tools\/\d+\/args\/\d+\/position$/, fill('query')],
  [/^\/tools\/\d+\/args\/\d+\/required$/, fill(true)],
  [
    /^\/tools\/\d+\/args\/\d+\/type$/,
    { fill: ({ items, properties }) => (items ? 'array' : properties ? 'object' : 'string') },
  ],
  [/^\/tools\/\d+\/args\/\d+\/(?:.*\/)?properties\/[^/]*$/, { fill: () => ({}) }],
  [/^\/prompts\/\d+\/arguments(?:\/|$)/, { without: 2 }],
  [/^\/prompts\/\d+\/promptResponse$/, { fill: () => [{ role: 'user', content: content() }] }],
  [/^\/prompts\/\d+\/promptResponse\/\d+$/, { fill: () => ({ role: 'user', content: content() }) }],
  [/^\/prompts\/\d+\/promptResponse\/\d+\/role$/, fill('user')],
  [/^\/prompts\/\d+\/promptResponse\/\d+\/content$/, { fill: content }],
  [/^\/prompts\/\d+\/promptResponse\/\d+\/content\/type$/, fill('text')],
  [/^\/prompts\/\d+\/promptResponse\/\d+\/content\/text$/, fill(TEMPLATE)],
  [
    /^\/mcpServers\/\d+\/type$/,
    { fill: ({ url, command }) => (url && !command ? 'streamable-http' : 'stdio') },
  ],
  [/^\/mcpServers\/\d+\/command$/, fill('true')],
  [/^\/mcpServers\/\d+\/url$/, fill('http://localhost/')],
  [/^\/notifier(?:\/|$)/, { without: 1 }],
]

export function cureOf(pointer: string): Cure | undefined {
  return CURES.find(([pattern]) => pattern.test(pointer))?.[1]
}

function serverOf({ configNames }: Around): JsonObject {
  return { name: 'unnamed', config: configOf(configNames()) }
}

function configOf(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, 'http://localhost']))
}

/** The names behind `.Config` or `.Args` in any text of a value. */
export function namesRead(value: Json, root: 'Config' | 'Args'): string[] {
  const found = stringify(value).matchAll(new RegExp(`\\.${root}(?:\\.(\\w+)| +\\\\"([^"\\\\]*))`, 'g'))
  return [...new Set([...found].map(([, field, key]) => field ?? key ?? ''))]
}
