import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { Arg, Tool } from '../../config/index.ts'
import type { Json, JsonObject } from '../../json/index.ts'
import { isObject } from '../../json/index.ts'
import type { HttpAnswer } from '../../net/index.ts'
import { readJson, readValue, splitArgument } from '../call/call-arguments.ts'

/**
 * The arguments of a call from `key=value` and `key:=JSON`, as `plantgw call` reads them; what is not declared is a
 * string, so that the tool itself says what is wrong with it. `key=@file` of a form is a file.
 * @throws Error that names the argument
 */
export function readArguments(tool: Tool, given: readonly string[]): JsonObject {
  const args: JsonObject = {}
  for (const one of given) {
    const { name, json, text } = splitArgument(one)
    const value = argumentOf(tool, name, json, text)
    Object.defineProperty(args, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return args
}

function argumentOf(tool: Tool, name: string, json: boolean, text: string): Json {
  const arg = tool.args.find((each) => each.name === name)
  const schema = schemaOf(tool, name, arg)
  const file = text.startsWith('@') ? text.slice(1) : undefined
  if (file !== undefined && arg?.position === 'form-data' && !json)
    return fileValue(file, isObject(schema) ? schema.type : undefined)
  const content = file === undefined ? text : readText(file)
  if (json) return readJson(name, content)
  return schema === undefined ? content : readValue(name, content, schema)
}

/** Of the author's own schema where there is one. */
function schemaOf({ inputSchema }: Tool, name: string, arg: Arg | undefined): unknown {
  const properties = inputSchema?.properties
  if (isObject(properties) && Object.hasOwn(properties, name)) return properties[name]
  return arg && { type: arg.type }
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
export function readAnswerFile(path: string): HttpAnswer {
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
