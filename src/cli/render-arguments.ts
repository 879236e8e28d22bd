import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { Arg, Tool } from '../config/index.ts'
import { type Json, type JsonObject, parse } from '../json/index.ts'
import type { Answer } from '../tools/index.ts'

/**
 * The arguments of a call from `key=value`, by their declared type; what is not declared is a string, so that
 * the tool itself says what is wrong with it.
 * @throws Error that names the argument
 */
export function readArguments(tool: Tool, given: readonly string[]): JsonObject {
  const args: JsonObject = {}
  for (const one of given) {
    const equals = one.indexOf('=')
    if (equals < 1) throw new Error(`arguments are written key=value, not ${one}`)
    const name = one.slice(0, equals)
    const value = readValue(name, one.slice(equals + 1), tool)
    Object.defineProperty(args, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return args
}

function readValue(name: string, text: string, tool: Tool): Json {
  const arg = tool.args.find((each) => each.name === name)
  const type = typeOf(tool, name, arg)
  const file = text.startsWith('@') ? text.slice(1) : undefined
  if (file !== undefined && arg?.position === 'form-data') return fileValue(file, type)
  const content = file === undefined ? text : readText(file)
  if (type === undefined || type === 'string') return content
  try {
    return parse(content)
  } catch (error) {
    throw new Error(`the argument ${name} of type ${String(type)} must be JSON: ${(error as Error).message}`)
  }
}

/** Of the author's own schema where there is one. */
function typeOf({ inputSchema }: Tool, name: string, arg: Arg | undefined): unknown {
  const properties = inputSchema?.properties
  if (typeof properties === 'object' && properties !== null && Object.hasOwn(properties, name)) {
    const schema = (properties as JsonObject)[name]
    return typeof schema === 'object' && schema !== null ? (schema as JsonObject).type : undefined
  }
  return arg?.type
}

/** A file of a form, as a client would give it. */
function fileValue(path: string, type: unknown): Json {
  const value = { filename: basename(path), data: readBytes(path).toString('base64') }
  return type === 'array' ? [value] : value
}

function readText(path: string): string {
  return readBytes(path).toString('utf8')
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new Error(`cannot read ${path}: ${(error as Error).message}`)
  }
}

/** An answer of the upstream with status 200 and this body; its type is seen by the body. */
export function readAnswerFile(path: string): Answer {
  const body = readBytes(path)
  return { status: 200, reason: 'OK', headers: { 'content-type': typeOfBody(body) }, body }
}

function typeOfBody(body: Buffer): string {
  try {
    JSON.parse(body.toString('utf8'))
    return 'application/json'
  } catch {
    return 'text/plain; charset=utf-8'
  }
}
