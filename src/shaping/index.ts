/** What is left of JSON values, and of their schemas: path masks, and values cut to a size. Knows nothing of MCP. */
export { compileMasks, type Masks, type MasksFault, type MaskTexts } from './masks.ts'
export { MASK_LIMITS } from './parse.ts'
export { type Unmatched, unmatched } from './reach.ts'
