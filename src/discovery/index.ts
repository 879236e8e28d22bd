/** Which tools a query means, by words alone: no model, no state, the same on every replica. */
export type { SearchableTool } from './fields.ts'
export { searchable } from './of-configuration.ts'
export { firstSentence } from './sentence.ts'
export {
  createIndex,
  type Hit,
  type IndexOptions,
  indexSteps,
  type Match,
  type SearchOptions,
  type ToolIndex,
} from './tool-index.ts'
