import { isDeepStrictEqual } from 'node:util'
import type { Path } from '../../config/index.ts'
import { ExactNumber, type Json, type JsonObject, stringify } from '../../json/index.ts'
import { quote } from '../../text/index.ts'
import type { Advise } from './report.ts'

/** Keywords of one schema that contradict each other, so that a model is told what cannot be. */
export function checkDisagreement(schema: JsonObject, path: Path, advise: Advise) {
  const types = [schema.type ?? []].flat().filter((type) => typeof type === 'string')
  const typed = (value: Json) =>
    types.length === 0 || types.some((type) => isOf(value, type)) || (value === null && schema.nullable)
  const wanted = types.map((type) => quote(type)).join(' or ')
  const say = (at: Path, message: string, hint: string) =>
    advise('schema-disagreement', [...path, ...at], message, hint)

  const allowed = Array.isArray(schema.enum) ? schema.enum : undefined
  for (const [i, value] of (allowed ?? []).entries())
    if (!typed(value))
      say(['enum', i], `\`enum\` allows ${text(value)}, and \`type\` only ${wanted}`, 'Make the two agree')
  if (schema.const !== undefined && !typed(schema.const))
    say(
      ['const'],
      `\`const\` is ${text(schema.const)}, and \`type\` allows only ${wanted}`,
      'Make the two agree',
    )

  const { default: value } = schema
  if (value !== undefined && !typed(value))
    say(
      ['default'],
      `the default ${text(value)} is not of the type ${wanted}`,
      'Write a default of that type',
    )
  else if (value !== undefined && allowed && !allowed.some((one) => isDeepStrictEqual(one, value)))
    say(
      ['default'],
      `the default ${text(value)} is none of the values of \`enum\``,
      `Write one of ${allowed.slice(0, 8).map(text).join(', ')}, or remove it`,
    )
}

function text(value: Json): string {
  return quote(typeof value === 'string' ? value : stringify(value))
}

/** What `type` says is left to the check of schemas where it is no type at all. */
function isOf(value: Json, type: string): boolean {
  const isNumber = typeof value === 'number' || typeof value === 'bigint' || value instanceof ExactNumber
  switch (type) {
    case 'null':
      return value === null
    case 'boolean':
    case 'string':
      return typeof value === type
    case 'number':
      return isNumber
    case 'integer':
      return typeof value === 'bigint' || Number.isInteger(value) || value instanceof ExactNumber
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumber
    default:
      return true
  }
}
