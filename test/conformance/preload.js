// The conformance suite imports `fs.globSync`, which Node has from 22 on, for a command that no run here uses.
import { register } from 'node:module'

const hooks = `
const WITH_GLOB = 'data:text/javascript,' + encodeURIComponent(
  "export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = () => []")
export async function resolve(specifier, context, next) {
  const ours = specifier === 'fs' || specifier === 'node:fs'
  if (ours && context.parentURL?.includes('@modelcontextprotocol/conformance'))
    return { url: WITH_GLOB, shortCircuit: true }
  return next(specifier, context)
}`

register(`data:text/javascript,${encodeURIComponent(hooks)}`)
