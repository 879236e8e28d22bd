import type { Route } from '../../build/types.ts'
import { isObject, type JsonObject } from '../../json/index.ts'
import { listPages } from '../../mcp/index.ts'
import type { ConsoleSource } from './source.ts'

/** A kind of things that clients list and use. Its name is the parameter of its pages. */
export interface ItemKind {
  name: 'tool' | 'prompt' | 'resource' | 'template'
  title: string
  list: string
  /** Member of the list's result. */
  member: string
  /** Method that uses one. */
  method: string
  /** Member that names one. */
  key: string
}

export const ITEM_KINDS: readonly ItemKind[] = [
  { name: 'tool', title: 'Tools', list: 'tools/list', member: 'tools', method: 'tools/call', key: 'name' },
  {
    name: 'prompt',
    title: 'Prompts',
    list: 'prompts/list',
    member: 'prompts',
    method: 'prompts/get',
    key: 'name',
  },
  {
    name: 'resource',
    title: 'Resources',
    list: 'resources/list',
    member: 'resources',
    method: 'resources/read',
    key: 'uri',
  },
  {
    name: 'template',
    title: 'Resource templates',
    list: 'resources/templates/list',
    member: 'resourceTemplates',
    method: 'resources/read',
    key: 'uriTemplate',
  },
]

/**
 * A list as clients get it, whole; a text says why it is unknown.
 * @param brief as clients get it where only some tools are listed
 */
export async function listItems(
  route: Route,
  source: ConsoleSource,
  { list, member }: ItemKind,
  brief = false,
): Promise<JsonObject[] | string> {
  const isLocal = !route.proxy && !brief
  if (isLocal && member === 'tools') return JSON.parse(route.lists.tools) as JsonObject[]
  if (isLocal && member === 'prompts') return JSON.parse(route.lists.prompts) as JsonObject[]
  if (route.access !== 'open')
    return 'Only callers with credentials see this list; use `plantgw tools` with their token.'
  const items: JsonObject[] = []
  const ask = (params: JsonObject) =>
    source.ask({ prefix: route.prefix, method: list, params, whole: !brief })
  for await (const { result, error } of listPages(ask)) {
    if (isObject(error))
      // A server without such things does not know the method.
      return error.code === -32601 ? [] : String(error.message)
    if (!isObject(result) || !Array.isArray(result[member])) return 'The servers gave no list'
    items.push(...result[member].filter(isObject))
  }
  return items
}

/** The schema of the arguments of an item. */
export function argumentsSchema({ name }: ItemKind, item: JsonObject): JsonObject {
  if (name === 'tool') return isObject(item.inputSchema) ? item.inputSchema : {}
  const given = Array.isArray(item.arguments) ? item.arguments.filter(isObject) : []
  const variables =
    name === 'template' ? variablesOf(String(item.uriTemplate)).map((one) => ({ name: one })) : given
  const properties = Object.fromEntries(
    variables.map(({ name, description, title }: JsonObject) => [
      String(name),
      { type: 'string', ...(description && { description }), ...(title && { title }) },
    ]),
  )
  const required = given.filter(({ required }) => required === true).map(({ name }) => String(name))
  return { type: 'object', properties, ...(required.length && { required }) }
}

const EXPRESSION = /\{([+#./;?&]?)([^{}]+)\}/g

function namesIn(list: string): string[] {
  return list.split(',').map((one) => one.replace(/(?:\*|:\d+)$/, ''))
}

/** Names of the variables of a URI template (RFC 6570). */
function variablesOf(template: string): string[] {
  return [...new Set([...template.matchAll(EXPRESSION)].flatMap(([, , list]) => namesIn(list!)))]
}

/** How each operator begins, what stands between its values, and whether they have names. */
const OPERATORS: Record<string, [begin: string, between: string, isNamed?: boolean]> = {
  '': ['', ','],
  '+': ['', ','],
  '#': ['#', ','],
  '.': ['.', '.'],
  '/': ['/', '/'],
  ';': [';', ';', true],
  '?': ['?', '&', true],
  '&': ['&', '&', true],
}

/** Fills a URI template with texts; those that are absent are left out (RFC 6570). */
export function expanded(template: string, values: JsonObject): string {
  return template.replace(EXPRESSION, (_, operator: string, list: string) => {
    const [begin, between, isNamed] = OPERATORS[operator]!
    const encode = operator === '+' || operator === '#' ? encodeURI : encodeURIComponent
    const parts = namesIn(list).flatMap((name) => {
      if (!Object.hasOwn(values, name)) return []
      const value = encode(String(values[name]))
      return isNamed ? `${name}=${value}` : value
    })
    return parts.length ? begin + parts.join(between) : ''
  })
}
