/** Finds tools for a query by words alone: no model, no state, the same on every replica. */

export type { Discovery, ToolWords } from './catalogue.ts'
export { type Catalogue, createCatalogue, type DiscoveryAnswer, readToolCall, tokensOf } from './catalogue.ts'
export { CALL, CALL_READ, DISCOVERY_TOOLS, SEARCH } from './discovery-tools.ts'
export { firstSentence, isReadOnly, lineOf, signatureOf } from './signature.ts'
export { STOP_WORDS, stemOf, wordsOf } from './stemming.ts'
export { createIndex, indexSteps, type Match, type ToolIndex } from './tool-index.ts'
export { declared, type SearchableTool, searchable } from './tool-texts.ts'
