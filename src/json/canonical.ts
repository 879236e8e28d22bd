import { type Json, stringify } from './index.ts'

/** The canonical JSON text of a value (RFC 8785); of numbers that a double cannot hold, that of the nearest one. */
export function canonicalText(value: Json): string {
  return canonical(JSON.parse(stringify(value)))
}

/** Members by the UTF-16 code units of their names, numbers as ECMAScript writes them. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`
}
