import { Document, isMap, isScalar, isSeq, type Node, visit } from 'yaml'
import { secretsIn } from '../checks/practice/leaked-secrets.ts'
import type { Json } from '../json/index.ts'
import { visible } from '../mcp/visible.ts'
import type { WrittenTool } from './tool.ts'

export interface Written {
  name: string
  prefix: string
  description: string
  config: ReadonlyMap<string, string>
  tools: readonly WrittenTool[]
  /** Lines at the top of the file. */
  head: readonly string[]
  /** Comments beside values of `config`. */
  comments: ReadonlyMap<string, string>
}

/** Maximum characters of a map on one line. */
const LINE = 96

/** A configuration as YAML text. */
export function configurationYaml(written: Written): string {
  const { name, prefix, description, config, tools, head, comments } = written
  const servers = [{ name, description, config: Object.fromEntries(config) }]
  // Invisible characters in descriptions would be findings, and clients do not show them.
  const shown = visible({ name, routers: [{ server: name, prefix }], servers, tools } as unknown as Json)
  const doc = new Document(shown, { aliasDuplicateObjects: false })
  layOut(doc)
  const server = doc.getIn(['servers', 0])
  if (isMap(server)) server.flow = false
  const settings = doc.getIn(['servers', 0, 'config'])
  if (isMap(settings)) {
    settings.flow = false
    for (const pair of settings.items) {
      const comment = isScalar(pair.key) ? comments.get(String(pair.key.value)) : undefined
      if (comment && isScalar(pair.value)) pair.value.comment = ` ${comment}`
    }
  }
  const list = doc.get('tools')
  if (isSeq(list)) for (const [i, item] of list.items.entries()) if (i > 0) (item as Node).spaceBefore = true
  const text = doc.toString(LAYOUT)
  // The document's text must not be read as variables.
  const top = head.map((line) => `# ${line}\n`).join('')
  return withoutSecrets((top + text).replaceAll('${', '$$${'))
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
