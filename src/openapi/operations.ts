import type { Json, JsonObject } from '../json/index.ts'
import { isMap, listOf, mapOf, type Refs, reasonOf, textOf, type Version } from './open-document.ts'
import { type Body, type Content, oldContent, oldOperation, oldServers } from './swagger.ts'

/** An operation in OpenAPI 3 form, with references to parameters and bodies resolved. */
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
  /** The innermost servers given. */
  servers: Json | undefined
  /** Keys that describe nothing of a call, with reasons. */
  unused: Unused[]
  /** The content of each success (2xx), empty if none; resolved on demand. @throws Unsupported */
  results: () => Content[]
}

interface Unused {
  what: string
  reason: string
}

export interface Unread {
  shown: string
  reason: string
  /** A key of the path that is not used; absent: the operation cannot be read. */
  what?: string
}

/** Keys that the import reads, or that describe nothing of a call. */
const OF_PATH = new Set(['$ref', 'summary', 'description', 'servers', 'parameters'])
const OF_OPERATION = new Set([
  ...OF_PATH,
  ...['operationId', 'tags', 'requestBody', 'responses', 'security', 'deprecated', 'externalDocs'],
  ...['consumes', 'produces', 'schemes'],
])
const REASONS: Readonly<Record<string, string>> = {
  additionalOperations: 'a tool cannot have their methods',
  callbacks: 'the gateway does not receive calls of an API',
  webhooks: 'the gateway does not receive calls of an API',
}

/** Keys of an object beside known ones, extensions apart. */
export function unusedKeys(given: JsonObject, isKnown: (key: string) => boolean): Unused[] {
  const keys = Object.keys(given).filter((key) => !isKnown(key) && !key.startsWith('x-'))
  return keys.map((key) => ({
    what: `\`${key}\``,
    reason: REASONS[key] ?? 'an OpenAPI description has no such key there',
  }))
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query']

/** Every operation in document order, or why it is unreadable. */
export function operationsOf(
  document: JsonObject,
  version: Version,
  refs: Refs,
): Generator<Operation | Unread> {
  // References of paths and operations may have siblings.
  const merged = (given: Json | undefined): JsonObject => {
    const { $ref: _, ...own } = mapOf(given)
    return { ...refs.follow(given), ...own }
  }
  return attempt('all paths', function* () {
    for (const [path, given] of Object.entries(refs.follow(document.paths)))
      if (!path.startsWith('x-'))
        yield* attempt(path, function* () {
          const item = merged(given)
          const isKnown = (key: string) => OF_PATH.has(key) || (METHODS.includes(key) && isMap(item[key]))
          for (const { what, reason } of unusedKeys(item, isKnown)) yield { shown: path, reason, what }
          for (const method of METHODS.filter((one) => isMap(item[one]))) {
            const shown = `${method.toUpperCase()} ${path}`
            const read = () =>
              readOperation({ method, path, shown }, item, merged(item[method]), document, version, refs)
            yield* attempt(shown, () => [read()])
          }
        })
  })
}

function* attempt<T>(shown: string, read: () => Iterable<T>): Generator<T | Unread> {
  try {
    yield* read()
  } catch (error) {
    yield { shown, reason: reasonOf(error) }
  }
}

function readOperation(
  { method, path, shown }: Pick<Operation, 'method' | 'path' | 'shown'>,
  item: JsonObject,
  operation: JsonObject,
  document: JsonObject,
  version: Version,
  refs: Refs,
): Operation {
  const named = new Map<string, JsonObject>()
  const given = [...listOf(item.parameters), ...listOf(operation.parameters)]
    .map((one) => refs.follow(one))
    .filter((parameter) => {
      const { name, in: place } = parameter
      const isNamed = typeof name === 'string' && typeof place === 'string'
      if (isNamed) named.set(`${place} ${name}`, parameter)
      return !isNamed
    })
  const parameters = [...named.values()]
  const unused = unusedKeys(operation, (key) => OF_OPERATION.has(key))
  if (given.length > 0)
    unused.push({ what: 'a parameter without `name` or `in`', reason: 'it cannot be sent' })
  const [servers] = [operation.servers, item.servers, document.servers].filter(
    (list) => listOf(list).length > 0,
  )
  return {
    method: method.toUpperCase(),
    path,
    shown,
    id: textOf(operation.operationId),
    unused,
    tags: listOf(operation.tags).filter((tag) => typeof tag === 'string') as string[],
    summary: textOf(operation.summary) ?? textOf(item.summary) ?? '',
    description: textOf(operation.description) ?? textOf(item.description) ?? '',
    deprecated: operation.deprecated === true,
    security: operation.security ?? document.security,
    servers: version === '2.0' ? oldServers(document) : servers,
    results: () =>
      successes(operation, refs).map((one) =>
        version === '2.0' ? oldContent(one, operation, document) : contentOf(one, refs),
      ),
    ...(version === '2.0'
      ? oldOperation(parameters, operation, document)
      : { parameters, body: bodyOf(operation.requestBody, refs) }),
  }
}

/** The success responses. @throws Unsupported */
function successes({ responses }: JsonObject, refs: Refs): JsonObject[] {
  const all = Object.entries(mapOf(responses))
  return all.filter(([status]) => /^2(?:\d\d|XX)$/i.test(status)).map(([, one]) => refs.follow(one))
}

function contentOf({ content }: JsonObject, refs: Refs): Content {
  return Object.entries(mapOf(content)).map(([type, media]) => [type, refs.follow(media)] as const)
}

function bodyOf(given: Json | undefined, refs: Refs): Body | undefined {
  if (given === undefined || given === null) return undefined
  const body = refs.follow(given)
  const content = contentOf(body, refs)
  if (content.length === 0) return undefined
  return { required: body.required === true, description: textOf(body.description) ?? '', content }
}

/** Selection of operations; absent members select all. */
export interface Selection {
  /** At least one of these tags, regardless of case. */
  tags?: readonly string[]
  /** At least one matches its `operationId`, or its method and path, such as `GET /pets/{id}`. */
  include?: readonly RegExp[]
  /** None of these matches. */
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
