import { randomBytes } from 'node:crypto'
import { Document, isMap, isScalar, isSeq, type Node, visit, type YAMLMap } from 'yaml'
import { secretsIn } from '../checks/practice/leaked-secrets.ts'
import type { Json, JsonObject } from '../json/index.ts'
import { visible } from '../mcp/visible.ts'
import type { FetchedToken } from './security.ts'
import type { WrittenTool } from './tool.ts'

interface Written {
  name: string
  prefix: string
  description: string
  baseUrl: string
  /** Headers of all tools. */
  headers: Readonly<Record<string, string>>
  config: ReadonlyMap<string, string>
  token: FetchedToken | undefined
  tools: readonly WrittenTool[]
  /** Lines at the top of the file. */
  head: readonly string[]
  /** Beside `baseUrl`. */
  comment: string | undefined
}

/** Maximum characters of a map on one line. */
const LINE = 96

/** A configuration as YAML text. */
export function configurationYaml(written: Written): string {
  const { name, prefix, description, baseUrl, headers, config, token, tools, head, comment } = written
  const server = {
    ...{ description, baseUrl },
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(config.size > 0 && { config: Object.fromEntries(config) }),
    ...(token && { credentials: credentialsOf(token) }),
  }
  // Invisible characters in descriptions would be findings, and clients do not show them.
  const shown = visible({ name, prefix, servers: [server], tools } as unknown as Json)
  const doc = new Document(shown, { aliasDuplicateObjects: false })
  layOut(doc)
  const block = doc.getIn(['servers', 0]) as YAMLMap
  block.flow = false
  const address = block.get('baseUrl', true)
  if (comment && isScalar(address)) address.comment = ` ${comment}`
  const settings = block.get('config')
  if (isMap(settings)) settings.flow = false
  const list = doc.get('tools')
  if (isSeq(list)) for (const [i, item] of list.items.entries()) if (i > 0) (item as Node).spaceBefore = true
  const text = doc.toString(LAYOUT)
  // The document's text must not be read as variables.
  const top = head.map((line) => `# ${line}\n`).join('')
  return withoutSecrets((top + text).replaceAll('${', '$$${').replaceAll(VARIABLE, '$'))
}

/** Stands for the `$` of a variable until the document's own texts are escaped; no document can contain it. */
const VARIABLE = `$${randomBytes(6).toString('hex')}`

function credentialsOf(token: FetchedToken): JsonObject {
  const { authorizationUrl, tokenUrl, clientId, clientSecret, scopes } = token
  return {
    ...(authorizationUrl === undefined
      ? { type: 'clientCredentials', tokenUrl }
      : { type: 'oauth', for: 'gateway', authorizationUrl, tokenUrl }),
    ...{ clientId: `${VARIABLE}{${clientId}}`, clientSecret: `${VARIABLE}{${clientSecret}}` },
    ...(scopes.length > 0 && { scopes }),
  }
}

/** Layout of written files. */
export const LAYOUT = { lineWidth: 0, flowCollectionPadding: true } as const

/** Writes short maps and lists on one line. */
export function layOut(node: Node | Document): void {
  visit(node, {
    Map(_, map) {
      if (isShort(map)) map.flow = true
    },
    Seq(_, list) {
      if (list.items.every(isScalar) && isShort(list)) list.flow = true
    },
  })
}

function isShort(node: Node): boolean {
  let length = 0
  let flat = true
  visit(node, {
    Scalar(_, { value }) {
      length += String(value).length + 4
      // Templates are easier to read on their own line.
      if (typeof value === 'string' && /\{\{|\n/.test(value)) flat = false
      if (length > LINE) return visit.BREAK
      return undefined
    },
  })
  return flat && length <= LINE
}

/** Credentials in descriptions are examples, but checks cannot know. */
function withoutSecrets(text: string): string {
  let made = text
  for (const { range } of secretsIn({ file: '', text }))
    if (range) {
      const [start, end] = [range.start.offset, range.end.offset]
      made = made.slice(0, start) + made.slice(start, end).replace(/[^\s"'\\]/g, 'x') + made.slice(end)
    }
  return made
}
