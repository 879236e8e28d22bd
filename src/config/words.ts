import { isScalar } from 'yaml'
import { quote } from '../text/index.ts'
import type { Path } from './types.ts'
import type { Nodes } from './yaml/locate.ts'

const NOUNS: Record<string, string> = {
  Configuration: 'a configuration',
  Settings: 'the settings',
  Lint: 'the lint configuration',
  LintLimits: '`limits`',
  Router: 'a router',
  Cors: '`cors`',
  Auth: '`auth`',
  AuthToken: 'a token',
  Server: 'a server',
  Limits: '`limits`',
  Tool: 'a tool',
  Annotations: '`annotations`',
  Arg: 'an argument',
  ArgSchema: 'the schema of a nested value',
  Proxy: '`proxy`',
  Prompt: 'a prompt',
  PromptArgument: 'an argument of a prompt',
  PromptMessage: 'a message of a prompt',
  PromptContent: 'the content of a message',
  McpServer: 'an MCP server',
  ToolOverride: 'an override of a tool',
  Notifier: '`notifier`',
  SignalNotifier: '`signal` of a notifier',
  ApiNotifier: '`api` of a notifier',
  RedisNotifier: '`redis` of a notifier',
  Logger: '`logger`',
  Plants: '`plants`',
  PlantStorage: '`storage` of `plants`',
  Storage: '`storage`',
  PlantToken: 'a token of `plants`',
}

/** What an object of the schema with this title is called in a sentence. */
export function noun(title: string | undefined): string {
  return NOUNS[title ?? ''] ?? 'this map'
}

const TYPES: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: '`true` or `false`',
  array: 'a list',
  object: 'a map',
  null: 'nothing',
}

export function typeNoun(type: string | readonly string[]): string {
  return [type]
    .flat()
    .map((one) => TYPES[one as string] ?? String(one))
    .join(' or ')
}

/** What a value is, in a sentence. */
export function valueNoun(value: unknown): string {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return `the text ${quote(value)}`
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) return 'a map'
  return `\`${String(value)}\``
}

/** As `valueNoun`, but of what variables gave only their names: it may be a secret. */
export function sayer(nodes: Nodes): (path: Path, value: unknown) => string {
  return (path, value) => {
    const node = nodes.at(path)
    const source = isScalar(node) ? (node.source ?? '') : ''
    return source.includes('${') ? `what ${quote(source)} gives` : valueNoun(value)
  }
}
