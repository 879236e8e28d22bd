/**
 * Go's text/template in the gateway's dialect: text → a compiled template, or its errors. Independent: it knows JSON
 * and text, but no configurations or tools.
 */
export { metered } from './exec.ts'
export type { FunctionEntry } from './funcs/define.ts'
export { functionGroups } from './funcs/index.ts'
export { type ActionPiece, lex } from './lex.ts'
export type * from './node.ts'
export { eachNode, someNode } from './node.ts'
export { bodyPlace } from './places/auto.ts'
export { hasDotSegment, hasSlash } from './places/dot-segments.ts'
export { encodeCookie } from './places/plain.ts'
export { syntaxFault } from './regex/ecma.ts'
export { compilePattern } from './regex/pattern.ts'
export {
  compile,
  functionNames,
  literal,
  type Memo,
  parse,
  placeOf,
  type ReadVariable,
  templateMemo,
  variablesRead,
} from './template.ts'
export * from './types.ts'
