/** Reduces JSON values and their schemas: path masks, and values cut to a size. Knows nothing about MCP. */

export { nothingOmitted, type Omitted } from './fit.ts'
export { compilePages, type Next, type Pages } from './pages.ts'
export { compileMasks, type Masks, type MaskTexts } from './path-masks.ts'
export { unmatched } from './reach.ts'
export { isOfValue, type PartAsked, partOf, READ_RESULT } from './rest.ts'
export {
  compileShaping,
  jsonIn,
  jsonLimitOf,
  type Keep,
  type Presented,
  type Shaping,
  type ShapingFault,
  type ShapingTexts,
  withRest,
} from './shaping.ts'
