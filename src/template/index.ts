/**
 * Go's text/template in the gateway's dialect: text → a compiled template, or its errors. Independent: it knows JSON
 * and text, but no configurations or tools.
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
