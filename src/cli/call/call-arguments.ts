import { readFileSync } from 'node:fs'
import { isObject, type Json, type JsonObject, parse } from '../../json/index.ts'
import { nearest } from '../../text/index.ts'

/**
 * The arguments of a call from `key=value`, by the tool's input schema: what may be a string is text as it stands,
 * all else is JSON. `key=@file` reads the value from a file, and `key:=value` is JSON whatever the schema says.
 * @throws Error that names the argument
 */
export function callArguments(inputSchema: unknown, given: readonly string[]): JsonObject {
  const schema = isObject(inputSchema) ? inputSchema : {}
  const properties = isObject(schema.properties) ? schema.properties : {}
  const args = given.map((one) => {
    const { name, json, text } = splitArgument(one)
    const known = Object.hasOwn(properties, name)
    if (!known && schema.additionalProperties === false)
      throw new Error(unknown(name, Object.keys(properties)))
    const content = text.startsWith('@') ? readText(name, text.slice(1)) : text
    return [name, json ? readJson(name, content) : readValue(name, content, known ? properties[name] : {})]
  })
  return Object.fromEntries(args)
}

/**
 * `key=value` or, with `json`, `key:=value`.
 * @throws Error when it is neither
 */
export function splitArgument(given: string): { name: string; json: boolean; text: string } {
  const [, name, colon, text] = /^([^=]+?)(:?)=(.*)$/s.exec(given) ?? []
  if (name === undefined || text === undefined) throw new Error(`arguments must be key=value; got ${given}`)
  return { name, json: colon === ':', text }
}

/** What a text stands for, by the schema of the argument. */
export function readValue(name: string, text: string, property: unknown): Json {
  const types = typesOf(property)
  if (types.has('string')) return text
  if (types.size) return readJson(name, text, [...types].join(' or '))
  // The schema does not say: what is JSON is meant as JSON.
  try {
    return parse(text)
  } catch {
    return text
  }
}

export function readJson(name: string, text: string, type?: string): Json {
  try {
    return parse(text)
  } catch (error) {
    const what = type ? ` of type ${type}` : ''
    throw new Error(`the argument ${name}${what} must be JSON: ${(error as Error).message}`)
  }
}

/** The JSON types that a schema names, through its alternatives and enums too; none when it does not say. */
function typesOf(schema: unknown): Set<string> {
  if (!isObject(schema)) return new Set()
  const { type } = schema
  const own = typeof type === 'string' ? [type] : Array.isArray(type) ? type.map(String) : []
  const values = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const] : []
  const listed = own.length ? [] : values.map((value) => (value === null ? 'null' : typeof value))
  const branches = [schema.anyOf, schema.oneOf].flatMap((each) => (Array.isArray(each) ? each : []))
  return new Set([...own, ...listed, ...branches.flatMap((branch) => [...typesOf(branch)])])
}

function readText(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const cure = `write ${name}:='"@…"' for a string that begins with @`
    throw new Error(`the argument ${name}: cannot read ${path}: ${(error as Error).message} (${cure})`)
  }
}

function unknown(name: string, names: string[]): string {
  const close = nearest(name, names)
  if (close) return `the tool has no argument ${name}: did you mean ${close}?`
  return `the tool has no argument ${name}: ${names.length ? `there are ${names.join(', ')}` : 'it takes none'}`
}
