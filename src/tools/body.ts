import { type Tool, wireName } from '../config/model.ts'
import { stringify } from '../json/index.ts'
import { bodyPlace, type Template } from '../template/index.ts'
import { isJsonType } from '../text/index.ts'
import { isBytesType } from './answer.ts'
import { queryPairs } from './argument-text.ts'
import type { Headers } from './headers.ts'
import { bytesOf, PartWriter } from './multipart.ts'
import type { RequestDraft } from './positions.ts'
import type { Root } from './root.ts'
import { type CompileTemplate, REQUEST_ROOTS, renderInTurns } from './templates.ts'
import type { Problem } from './types.ts'

export interface Body {
  template?: Template | undefined
  /** Undefined: no body. @throws CallError */
  make(root: Root, draft: RequestDraft): Promise<MadeBody | undefined>
}

export interface MadeBody {
  body: string | Buffer
  contentType?: string
}

const FORM = 'application/x-www-form-urlencoded'
const MAY_BE_EMPTY = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])

/**
 * The body of a tool's requests: `form-data` arguments as multipart, `requestBody`, or `body` arguments as one JSON
 * object (as a form if the tool's Content-Type says so; a single Base64 text as bytes for a binary Content-Type). A
 * `requestBody` is sent with every method, because some search APIs require it with GET.
 */
export function compileBody(
  tool: Tool,
  path: Problem['path'],
  headers: Headers,
  compile: CompileTemplate,
  problems: Problem[],
): Body {
  const has = (wanted: string) => tool.args.some(({ position }) => position === wanted)
  if (has('form-data')) return { make: async (_root, { parts = new PartWriter() }) => parts.end() }
  const type = headers.namesContentType ? {} : { contentType: 'application/json' }
  if (tool.requestBody !== undefined) {
    const { mediaType = headers.namesContentType ? undefined : 'application/json' } = headers
    const place = bodyPlace(mediaType)
    const template = compile(tool.requestBody, [...path, 'requestBody'], place, REQUEST_ROOTS)
    if (!template) return { make: async () => undefined }
    return {
      template,
      async make(root) {
        const body = (await renderInTurns(template, root, 'requestBody')) ?? ''
        return body === '' ? undefined : { body, ...type }
      },
    }
  }
  if (!has('body')) return { make: async () => undefined }
  const form = headers.mediaType === FORM
  const [only, ...others] = tool.args.filter(({ position }) => position === 'body')
  if (
    headers.mediaType !== undefined &&
    isBytesType(headers.mediaType) &&
    only?.type === 'string' &&
    !others.length
  )
    return {
      async make(_root, { members: [first] }) {
        const value = first?.[1]
        return typeof value === 'string' ? { body: bytesOf(only.name, value) } : undefined
      },
    }
  if (!form && headers.mediaType !== undefined && !isJsonType(headers.mediaType))
    problems.push({
      path: [...path, 'headers'],
      code: 'key-without-effect',
      severity: 'warning',
      message: `The body arguments are sent as JSON, but the Content-Type is \`${headers.mediaType}\``,
      hint: 'Write a requestBody, or remove the Content-Type',
    })
  return {
    async make(_root, { members }) {
      if (members.length === 0 && MAY_BE_EMPTY.has(tool.method)) return undefined
      if (form) return { body: members.flatMap(([arg, value]) => queryPairs(arg, value)).join('&') }
      return {
        body: stringify(Object.fromEntries(members.map(([arg, value]) => [wireName(arg), value]))),
        ...type,
      }
    },
  }
}
