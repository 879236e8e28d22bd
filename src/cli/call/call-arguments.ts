import { basename } from 'node:path'
import type { Tool } from '../../config/index.ts'
import { isObject, type Json, type JsonObject, parse } from '../../json/index.ts'
import { noSuch } from '../options.ts'
import { readNamed } from '../read-in-time.ts'

/** An argument of the command line: `key=value` or, with `json`, `key:=value`. */
interface Given {
  name: string
  json: boolean
  text: string
}

/**
 * The arguments of a call from `key=value`, by the tool's input schema: strings are taken literally, everything else is
 * JSON. `key=@file` reads the value from a file, and `key:=value` is always JSON. Items of a list may be given one by one,
 * `key=a key=b`. A JSON object as the only argument is all of the arguments.
 * @throws Error with the argument's name
 */
export function callArguments(inputSchema: unknown, given: readonly string[]): JsonObject {
  const schema = isObject(inputSchema) ? inputSchema : {}
  const properties = isObject(schema.properties) ? schema.properties : {}
  return argumentsOf(given, (one) => {
    const { name } = one
    if (Object.hasOwn(properties, name)) return readValue(one, properties[name])
    if (schema.additionalProperties !== false) return readValue(one, {})
    throw new Error(
      noSuch(`the tool has no argument ${name}`, name, Object.keys(properties), 'it takes none'),
    )
  })
}

/**
 * The same for a configuration's tool; undeclared arguments are strings, so that the tool itself reports them.
 * `key=@file` of a form is a file.
 * @throws Error with the argument's name
 */
export function toolArguments({ args, inputSchema }: Tool, given: readonly string[]): JsonObject {
  const properties = isObject(inputSchema?.properties) ? inputSchema.properties : {}
  return argumentsOf(given, (one) => {
    const { name, json, text } = one
    const arg = args.find((each) => each.name === name)
    // The author's own schema takes precedence.
    const schema = Object.hasOwn(properties, name)
      ? properties[name]
      : { type: arg?.type ?? 'string', items: arg?.items }
    if (arg?.position !== 'form-data' || json || !text.startsWith('@')) return readValue(one, schema)
    const path = text.slice(1)
    const file = { filename: basename(path), data: readFile(name, path).toString('base64') }
    return isObject(schema) && schema.type === 'array' ? [file] : file
  })
}

function argumentsOf(given: readonly string[], read: (one: Given) => Json): JsonObject {
  const whole = given.length === 1 ? jsonObject(given[0]!) : undefined
  if (whole) return whole
  const args = new Map<string, Json>()
  for (const one of given) {
    const [, name, colon, text] = /^([^=]+?)(:?)=(.*)$/s.exec(one) ?? []
    if (name === undefined || text === undefined)
      throw new Error(`arguments must be key=value, or one JSON object; got ${one}`)
    const value = read({ name, json: colon === ':', text })
    const before = args.get(name)
    if (before === undefined) args.set(name, value)
    else if (Array.isArray(before) && Array.isArray(value)) args.set(name, [...before, ...value])
    else throw new Error(`${name} is given twice, and is not a list`)
  }
  return Object.fromEntries(args)
}

function jsonObject(text: string): JsonObject | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    const value = parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The value of a text, by the schema of the argument. */
function readValue({ name, json, text }: Given, schema: unknown): Json {
  const content = text.startsWith('@') ? readFile(name, text.slice(1)).toString('utf8') : text
  return json ? readJson(name, content) : readText(name, content, schema)
}

function readText(name: string, content: string, schema: unknown): Json {
  const types = typesOf(schema)
  if (types.has('string')) return content
  if (types.has('array') && [...types].every((type) => type === 'array' || type === 'null'))
    return readList(name, content, types, schema)
  if (types.size) return readJson(name, content, types)
  // Without a type in the schema, valid JSON is read as JSON.
  try {
    return parse(content)
  } catch {
    return content
  }
}

/** A JSON array, or one item of it. */
function readList(name: string, text: string, types: Set<string>, schema: unknown): Json {
  const start = text.trim()
  if (start.startsWith('[') || (start === 'null' && types.has('null'))) return readJson(name, text, ['array'])
  return [readText(name, text, isObject(schema) ? schema.items : undefined)]
}

const TYPES: Record<string, string> = {
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'a JSON object',
  array: 'a JSON array',
}

function readJson(name: string, text: string, types?: Iterable<string>): Json {
  try {
    return parse(text)
  } catch (error) {
    if (!types) throw new Error(`${name} must be JSON: ${(error as Error).message}`)
    // A file or a long value is not shown.
    const got = text.length <= 100 && !text.includes('\n') ? `, got ${JSON.stringify(text)}` : ''
    const wanted = Array.from(types, (type) => TYPES[type] ?? type).join(' or ')
    throw new Error(`${name} must be ${wanted}${got}`)
  }
}

/** The JSON types in a schema, including alternatives and enums; empty if unspecified. */
function typesOf(schema: unknown): Set<string> {
  if (!isObject(schema)) return new Set()
  const { type } = schema
  const own = typeof type === 'string' ? [type] : Array.isArray(type) ? type.map(String) : []
  const values = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const] : []
  const listed = own.length ? [] : values.map((value) => (value === null ? 'null' : typeof value))
  const branches = [schema.anyOf, schema.oneOf].flatMap((each) => (Array.isArray(each) ? each : []))
  return new Set([...own, ...listed, ...branches.flatMap((branch) => [...typesOf(branch)])])
}

function readFile(name: string, path: string): Buffer {
  try {
    return readNamed(path, 'the file')
  } catch (error) {
    const cure = `write ${name}:='"@…"' for a string that begins with @`
    throw new Error(`${name}: ${(error as Error).message} (${cure})`)
  }
}
