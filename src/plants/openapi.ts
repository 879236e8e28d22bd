import { readFileSync } from 'node:fs'

const FILE = new URL('../../schemas/plants.openapi.json', import.meta.url)

/** The OpenAPI 3.1 document as JSON text, its one server being the base path it is served under. */
export function description(basePath: string): string {
  const document = JSON.parse(readFileSync(FILE, 'utf8'))
  return JSON.stringify({ ...document, servers: [{ url: basePath }] })
}
