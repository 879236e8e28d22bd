import type { Tool } from '../config/model.ts'
import { type Json, type JsonObject, stringify } from '../json/index.ts'
import type { Place, Template } from '../template/index.ts'
import { sizeText } from '../text/index.ts'
import { CallError } from './failure.ts'
import type { Headers } from './headers.ts'
import { argParts, partWriter } from './multipart.ts'
import type { Root } from './root.ts'
import { type CompileTemplate, REQUEST_ROOTS, renderInTurns } from './templates.ts'
import type { Problem } from './types.ts'
import { queryPairs } from './values.ts'

export interface Body {
  template?: Template | undefined
  /** Undefined: the request has none. @throws CallError */
  make(root: Root, args: JsonObject): Promise<MadeBody | undefined>
}

export interface MadeBody {
  body: string | Buffer
  contentType?: string
}

const FORM = 'application/x-www-form-urlencoded'
const MAY_BE_EMPTY = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])

/**
 * The body of a tool's requests: its `form-data` arguments as multipart, its `requestBody`, or its `body`
 * arguments as one JSON object (as a form when the tool says so by its Content-Type). A `requestBody` is sent
 * with every method, also with GET: some search APIs want it so.
 * @param maxSize bytes; a multipart body is given up as soon as it is larger
 */
export function compileBody(
  tool: Tool,
  path: (string | number)[],
  headers: Headers,
  maxSize: number,
  compile: CompileTemplate,
  problems: Problem[],
): Body {
  const parts = tool.args.filter(({ position }) => position === 'form-data')
  if (parts.length > 0) return { make: async (_root, args) => multipart(parts, args, maxSize) }
  const fallback = headers.namesContentType ? {} : { contentType: 'application/json' }

  if (tool.requestBody !== undefined) {
    const place = bodyPlace(headers)
    const template = compile(tool.requestBody, [...path, 'requestBody'], place, REQUEST_ROOTS)
    if (!template) return { make: async () => undefined }
    return {
      template,
      async make(root) {
        const body = (await renderInTurns(template, root, 'requestBody')) ?? ''
        return body === '' ? undefined : { body, ...fallback }
      },
    }
  }

  const members = tool.args.filter(({ position }) => position === 'body')
  if (members.length === 0) return { make: async () => undefined }
  const form = headers.mediaType === FORM
  if (!form && headers.mediaType !== undefined && !isJsonType(headers.mediaType))
    problems.push({
      path: [...path, 'headers'],
      code: 'key-without-effect',
      severity: 'warning',
      message: `The body arguments are sent as JSON, but the Content-Type says \`${headers.mediaType}\``,
      hint: 'Write a requestBody, or remove the Content-Type',
    })
  return {
    async make(_root, args) {
      const given = members.filter(({ name }) => Object.hasOwn(args, name))
      if (given.length === 0 && MAY_BE_EMPTY.has(tool.method)) return undefined
      const entries = given.map(({ name }): [string, Json] => [name, args[name]!])
      if (form) return { body: entries.flatMap(([name, value]) => queryPairs(name, value)).join('&') }
      return { body: stringify(Object.fromEntries(entries)), ...fallback }
    },
  }
}

function bodyPlace({ mediaType, namesContentType }: Headers): Place {
  if (mediaType === undefined) return namesContentType ? 'auto' : 'json'
  if (mediaType === FORM) return 'form'
  return isJsonType(mediaType) ? 'json' : 'text'
}

/** `application/json`, `application/problem+json` and their like; a media type in lower case. */
export function isJsonType(mediaType: string): boolean {
  return mediaType.endsWith('+json') || mediaType === 'application/json' || mediaType === 'text/json'
}

function multipart(args: Tool['args'], values: JsonObject, maxSize: number): MadeBody {
  const writer = partWriter()
  for (const { name } of args) {
    if (!Object.hasOwn(values, name)) continue
    for (const part of argParts(name, values[name]!)) checkBytes(writer.write(part), maxSize)
  }
  return writer.end()
}

/** @throws CallError for a body that is larger than the limit */
export function checkSize(body: string | Buffer, maxSize: number): void {
  checkBytes(typeof body === 'string' ? Buffer.byteLength(body) : body.length, maxSize)
}

function checkBytes(size: number, maxSize: number): void {
  if (size > maxSize)
    throw new CallError(
      'too-large',
      `Nothing was sent: the body would be larger than the limit of ${sizeText(maxSize)} (maxRequestSize).`,
    )
}
