import type { SearchableTool } from './tool-texts.ts'

/** What `tools/list` shows: every tool, those that find and call the others, or what costs less than a number of tokens. */
export type ListingMode = 'list' | 'search' | 'auto'

/** What a configuration says of a tool beside what lists do. */
export type ToolWords = Pick<SearchableTool, 'group' | 'keywords' | 'method' | 'path'> & {
  /** What serves it. */
  server: string
}

/** How a route shows its tools. A reload that changes the route makes another one. */
export interface Discovery {
  readonly mode: ListingMode
  /** Estimated tokens of the list beyond which `auto` searches. */
  readonly above: number
  /** Results of a search, unless it says otherwise. */
  readonly results: number
  /** Whether a tool is in the list that is searched too, by the name that clients see. */
  pins(tool: string): boolean
  /** By the name that clients see; undefined: nothing is said of it. */
  wordsOf(tool: string): ToolWords | undefined
  readonly synonyms?: readonly (readonly string[])[] | undefined
  /** Equal where the same is configured. */
  readonly key: string
}
