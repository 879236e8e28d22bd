import type { SearchableTool } from './tool-texts.ts'

/** What `tools/list` shows: all tools, only discovery and pinned tools, or automatically by size. */
export type ListingMode = 'list' | 'search' | 'auto'

/** Search words of a tool from the configuration. */
export type ToolWords = Pick<SearchableTool, 'group' | 'keywords' | 'method' | 'path'> & {
  /** Name of its server. */
  server: string
}

/** How a route shows its tools. A reload that changes the route creates a new one. */
export interface Discovery {
  readonly mode: ListingMode
  /** Estimated tokens of the list beyond which `auto` uses search. */
  readonly above: number
  /** Default number of search results. */
  readonly results: number
  /** Whether a tool stays listed in search mode, by its name for clients. */
  pins(tool: string): boolean
  /** By name for clients; undefined: none. */
  wordsOf(tool: string): ToolWords | undefined
  readonly synonyms?: readonly (readonly string[])[] | undefined
  /** Equal for equal configurations. */
  readonly key: string
}
