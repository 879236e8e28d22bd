import { isScalar } from 'yaml'
import { quote, shorten } from '../text/index.ts'
import type { Path } from './types.ts'
import type { Nodes } from './yaml/locate.ts'

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
}

/** What a value of a type, or of one of several, is called in a sentence. */
export function describeType(type: string | readonly string[]): string {
  return [type]
    .flat()
    .map((one) => TYPES[one as string] ?? String(one))
    .join(' or ')
}

/** What a value is called in a sentence. */
export function describeValue(value: unknown): string {
  if (value === null) return 'no value'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'string') return `"${shorten(value.replace(/\s+/g, ' '), 60)}"`
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) return 'an object'
  return String(value)
}

/** The text of the scalar at a path, if it holds an environment variable. */
export function variableAt(path: Path, nodes: Nodes): string | undefined {
  const node = nodes.at(path)
  return isScalar(node) && node.source?.includes('${') ? node.source : undefined
}

/** Describes the value at a path. */
export type Describe = (path: Path, value: unknown) => string

/** As `describeValue`, but of variables only their names: their values may be secrets. */
export function describer(nodes: Nodes): Describe {
  return (path, value) => {
    const variable = variableAt(path, nodes)
    return variable === undefined ? describeValue(value) : `the value of ${quote(variable)}`
  }
}
