/** Finds tools for a query by words alone: no model, no state, the same on every replica. */

export {
  type Catalogue,
  createCatalogue,
  type DiscoveryAnswer,
  readToolCall,
  type ToolCall,
  tokensOf,
} from './catalogue.ts'
export { CALL, CALL_READ, DESCRIBE, DISCOVERY_TOOLS, SEARCH } from './discovery-tools.ts'
export { declared, searchable } from './searchable.ts'
export { firstSentence } from './sentence.ts'
export { isReadOnly, lineOf, signatureOf } from './signature.ts'
export { STOP_WORDS, stemOf, wordsOf } from './stemming.ts'
export {
  createIndex,
  type Hit,
  type IndexOptions,
  indexSteps,
  type Match,
  type SearchOptions,
  type ToolIndex,
} from './tool-index.ts'
export type { SearchableTool } from './tool-texts.ts'
export type { Discovery, ListingMode, ToolWords } from './tool-words.ts'
