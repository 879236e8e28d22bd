/**
 * Go's text/template in the dialect of the gateway: text → a compiled template, or what is wrong with it. Stands by
 * itself: it knows JSON and texts, and nothing of configurations or tools.
 */
export { type Allowance, metered } from './allowance.ts'
export type { FunctionEntry, FunctionGroup } from './funcs/define.ts'
export { functionGroups } from './funcs/index.ts'
export { type ActionPiece, lex } from './lex.ts'
export { literal, type ReadVariable, variablesRead } from './literal.ts'
export { type Memo, templateMemo } from './memo.ts'
export type * from './node.ts'
export { hasDotSegment, hasSlash } from './places/dot-segments.ts'
export { bodyPlace } from './places/media-types.ts'
export { encodeCookie } from './places/plain.ts'
export { compilePattern, type Pattern } from './regex/automaton.ts'
export { compile, functionNames, type Parsed, parse, placeOf } from './template.ts'
export * from './types.ts'
