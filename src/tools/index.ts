/** A tool call becomes an HTTP request, and its answer a tool result. */

export { compilePrompts } from './prompts.ts'
export { compileTools, compileToolsSteps } from './tool.ts'
export type * from './types.ts'
