import type { Json, JsonObject } from '../json/index.ts'
import { isMap, listOf, mapOf, textOf, Unfit } from './document-values.ts'
import type { Version } from './open-document.ts'
import type { Refs } from './references.ts'
import { oldOperation } from './swagger.ts'

/** An operation in the form of OpenAPI 3, with its references to parameters and bodies followed. */
export interface Operation {
  /** Upper case. */
  method: string
  path: string
  /** For reports: `GET /pets`. */
  shown: string
  id: string | undefined
  tags: string[]
  summary: string
  description: string
  deprecated: boolean
  parameters: JsonObject[]
  body: Body | undefined
  /** Alternatives; undefined: those of the document. */
  security: Json | undefined
  /** The nearest that are given. */
  servers: Json | undefined
}

export interface Body {
  required: boolean
  description: string
  content: [type: string, media: JsonObject][]
}

export interface Unread {
  shown: string
  reason: string
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query']

/** Every operation in the order of the document, or the reason why it cannot be read. */
export function* operationsOf(
  document: JsonObject,
  version: Version,
  refs: Refs,
): Generator<Operation | Unread> {
  let paths: JsonObject
  try {
    paths = refs.follow(document.paths)
  } catch (error) {
    yield { shown: 'all paths', reason: reasonOf(error) }
    return
  }
  for (const [path, given] of Object.entries(paths)) {
    if (path.startsWith('x-')) continue
    let item: JsonObject
    try {
      item = { ...refs.follow(given), ...withoutRef(given) }
    } catch (error) {
      yield { shown: path, reason: reasonOf(error) }
      continue
    }
    for (const method of METHODS) {
      if (!isMap(item[method])) continue
      const shown = `${method.toUpperCase()} ${path}`
      try {
        yield readOperation(method, path, shown, item, document, version, refs)
      } catch (error) {
        yield { shown, reason: reasonOf(error) }
      }
    }
  }
}

function withoutRef(given: Json): JsonObject {
  const { $ref: _, ...rest } = mapOf(given)
  return rest
}

/** @throws what is none of this room's own errors */
export function reasonOf(error: unknown): string {
  if (error instanceof Unfit) return error.message
  throw error
}

function readOperation(
  method: string,
  path: string,
  shown: string,
  item: JsonObject,
  document: JsonObject,
  version: Version,
  refs: Refs,
): Operation {
  // No operation may be a reference, but descriptions that are split into files have such.
  const operation = { ...refs.follow(item[method]), ...withoutRef(item[method]!) }
  const parameters = new Map<string, JsonObject>()
  for (const given of [...listOf(item.parameters), ...listOf(operation.parameters)]) {
    const parameter = refs.follow(given)
    if (typeof parameter.name === 'string' && typeof parameter.in === 'string')
      parameters.set(`${parameter.in} ${parameter.name}`, parameter)
  }
  const common = {
    method: method.toUpperCase(),
    path,
    shown,
    id: textOf(operation.operationId),
    tags: listOf(operation.tags).filter((tag) => typeof tag === 'string') as string[],
    summary: textOf(operation.summary) ?? textOf(item.summary) ?? '',
    description: textOf(operation.description) ?? textOf(item.description) ?? '',
    deprecated: operation.deprecated === true,
    security: operation.security ?? document.security,
  }
  if (version === '2.0')
    return { ...common, ...oldOperation([...parameters.values()], operation, document), servers: undefined }
  const servers = [operation.servers, item.servers, document.servers].find((list) => listOf(list).length > 0)
  return {
    ...common,
    parameters: [...parameters.values()],
    body: bodyOf(operation.requestBody, refs),
    servers,
  }
}

function bodyOf(given: Json | undefined, refs: Refs): Body | undefined {
  if (given === undefined || given === null) return undefined
  const body = refs.follow(given)
  const content = Object.entries(mapOf(body.content)).map(([type, media]): Body['content'][number] => [
    type,
    refs.follow(media),
  ])
  if (content.length === 0) return undefined
  return { required: body.required === true, description: textOf(body.description) ?? '', content }
}

/** Which operations are wanted; what is not given leaves nothing out. */
export interface Selection {
  /** It has one of these tags, in any case of letters. */
  tags?: readonly string[]
  /** One of them matches its `operationId`, or its method and path, such as `GET /pets/{id}`. */
  include?: readonly RegExp[]
  /** None of them does. */
  exclude?: readonly RegExp[]
}

export function isSelected(
  { tags, id, shown }: Operation,
  { tags: wanted, include, exclude }: Selection,
): boolean {
  const matches = (regex: RegExp) => regex.test(shown) || (id !== undefined && regex.test(id))
  if (wanted?.length) {
    const own = new Set(tags.map((tag) => tag.toLowerCase()))
    if (!wanted.some((tag) => own.has(tag.toLowerCase()))) return false
  }
  if (include?.length && !include.some(matches)) return false
  return !exclude?.some(matches)
}
