/** What is left of JSON values, and of their schemas: path masks, and values cut to a size. Knows nothing of MCP. */
export { isOmitted, nothingOmitted, type Omitted } from './fit.ts'
export { MASK_LIMITS } from './mask-text.ts'
export { compileMasks, type Masks, type MasksFault, type MaskTexts } from './path-masks.ts'
export { type Unmatched, unmatched } from './reach.ts'
export { compileShaping, jsonIn, type Presented, type Shaping, type ShapingTexts } from './shaping.ts'
