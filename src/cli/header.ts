/**
 * Adds a `name:value` of the command line to the headers so far; names in lower case, repeated ones joined.
 * @throws Error when it has no colon
 */
export function addHeader(given: string, headers: Record<string, string>): Record<string, string> {
  const colon = given.indexOf(':')
  if (colon < 1) throw new Error(`--header must be name:value; got ${given}`)
  const name = given.slice(0, colon).trim().toLowerCase()
  const value = given.slice(colon + 1).trim()
  const before = Object.hasOwn(headers, name) ? `${headers[name]}, ` : ''
  return { ...headers, [name]: before + value }
}
