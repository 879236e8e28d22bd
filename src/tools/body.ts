import type { Tool } from '../config/model.ts'
import { type Json, type JsonObject, stringify } from '../json/index.ts'
import type { Place, Template } from '../template/index.ts'
import type { Headers } from './headers.ts'
import { argParts, encodeParts, type Part } from './multipart.ts'
import type { Root } from './root.ts'
import { type CompileTemplate, REQUEST_ROOTS, render } from './templates.ts'
import type { Problem } from './types.ts'
import { queryPairs } from './values.ts'

export interface Body {
  template?: Template | undefined
  /** Undefined: the request has none. @throws CallError */
  make(root: Root, args: JsonObject): { body: string | Buffer; contentType?: string } | undefined
}

const FORM = 'application/x-www-form-urlencoded'
const MAY_BE_EMPTY = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])

/**
 * The body of a tool's requests: its `form-data` arguments as multipart, its `requestBody`, or its `body`
 * arguments as one JSON object (as a form when the tool says so by its Content-Type). A `requestBody` is sent
 * with every method, also with GET: some search APIs want it so.
 */
export function compileBody(
  tool: Tool,
  path: (string | number)[],
  headers: Headers,
  compile: CompileTemplate,
  problems: Problem[],
): Body {
  const parts = tool.args.filter(({ position }) => position === 'form-data')
  if (parts.length > 0) return { make: (_root, args) => multipart(parts, args) }
  const fallback = headers.namesContentType ? {} : { contentType: 'application/json' }

  if (tool.requestBody !== undefined) {
    const place = bodyPlace(headers)
    const template = compile(tool.requestBody, [...path, 'requestBody'], place, REQUEST_ROOTS)
    if (!template) return { make: () => undefined }
    return {
      template,
      make(root) {
        const body = render(template, root, 'requestBody') ?? ''
        return body === '' ? undefined : { body, ...fallback }
      },
    }
  }

  const members = tool.args.filter(({ position }) => position === 'body')
  if (members.length === 0) return { make: () => undefined }
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
    make(_root, args) {
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

function multipart(args: Tool['args'], values: JsonObject): { body: Buffer; contentType: string } {
  const parts: Part[] = []
  for (const { name } of args) if (Object.hasOwn(values, name)) parts.push(...argParts(name, values[name]!))
  return encodeParts(parts)
}
