/** A tool call becomes an HTTP request, and its answer a tool result. */

export { compileTools, compileToolsSteps } from './compile.ts'
export { compilePrompts } from './prompts.ts'
export type * from './types.ts'
