/** Which tools a query means, by words alone: no model, no state, the same on every replica. */

export { declared, searchable } from './searchable.ts'
export { firstSentence } from './sentence.ts'
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
