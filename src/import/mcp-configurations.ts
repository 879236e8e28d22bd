import { stringify } from 'yaml'
import { readConfiguration } from '../checks/index.ts'
import { lintPractice } from '../checks/practice/index.ts'
import type { Source } from '../config/index.ts'
import type { Finding } from '../findings/index.ts'
import { withoutComments } from '../json/index.ts'
import type { ImportedConfiguration } from '../openapi/index.ts'
import { parseText } from '../openapi/open-document.ts'
import { namer, slug } from '../openapi/tool-names.ts'
import { literal } from '../template/index.ts'
import { type ClientServer, serversOfLine } from './bridges.ts'
import { type ClientServers, clientServers } from './client-servers.ts'
import { Texts, type Variable, Variables } from './secret-variables.ts'
import { startable } from './startable.ts'

export interface ImportedServers {
  configurations: ImportedConfiguration[]
  /** Servers that were not imported, with reasons. */
  skipped: { name: string; reason: string }[]
  /** Omitted settings of imported servers. */
  notes: { name: string; note: string }[]
  /** Variables to set before the configurations are served. */
  variables: Variable[]
}

export type ServersResult =
  | ({ fault?: undefined; findings?: undefined } & ImportedServers)
  /** Why it contains no servers. */
  | { fault: string; findings?: undefined }
  /** It is JSON or YAML with errors. */
  | { fault?: undefined; findings: Finding[] }

/** Maximum characters of command lines. */
const MAX_LINES = 64 * 1024

/**
 * Creates a configuration for each MCP server in a client's file (JSON with optional comments, or YAML), or in command
 * lines of supergateway, mcp-proxy or mcp-remote. Secrets become environment variables. Never throws because of the
 * text.
 * @param name of the configuration, if there is one server; default: the server's
 */
export function importServers(source: Source, name?: string): ServersResult {
  const read = readServers(source)
  if ('findings' in read || 'fault' in read) return read
  const unique = namer(60)
  const variables = new Variables(JSON.stringify(read.servers))
  const made: ImportedServers = {
    configurations: [],
    skipped: [...read.skipped],
    notes: [],
    variables: variables.found,
  }
  for (const given of read.servers) {
    const server = startable(given)
    if (typeof server === 'string') {
      made.skipped.push({ name: given.name, reason: server })
      continue
    }
    const wanted = read.servers.length === 1 ? name : undefined
    const own = unique(wanted ?? (slug(server.name) || 'server')).replaceAll('_', '-')
    const texts = new Texts(variables, own)
    const prefix = `/${own}`
    made.configurations.push({
      name: own,
      prefix,
      text: configurationText(own, prefix, server, texts),
      tools: [],
      variables: [],
    })
    for (const note of server.notes) made.notes.push({ name: own, note })
  }
  return made
}

function readServers({ file, text }: Source): ClientServers | { fault: string } | { findings: Finding[] } {
  const plain = withoutComments(text)?.text ?? text
  // Only JSON and YAML files begin with a key.
  if (/^\uFEFF?\s*(?:#.*\n\s*)*(?:[{[]|---|["']?[\w-]+["']?:(?:\s|$))/.test(plain)) {
    const read = parseText({ file, text: plain })
    return 'findings' in read ? read : clientServers(read.value, file)
  }
  if (text.length > MAX_LINES) return { fault: 'it is neither a file of a client nor a command line' }
  return ofLines(text)
}

function ofLines(text: string): ClientServers | { fault: string } {
  const made: ClientServers = { servers: [], skipped: [] }
  for (const line of text.replace(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const servers = serversOfLine(line.trim().replace(/^\$\s+/, ''))
    if (typeof servers === 'string') made.skipped.push({ name: line.trim().slice(0, 40), reason: servers })
    else made.servers.push(...servers)
  }
  const [first] = made.skipped
  return made.servers.length === 0 ? { fault: first?.reason ?? 'it is empty' } : made
}

function configurationText(name: string, prefix: string, server: ClientServer, texts: Texts): string {
  const { type, command, args, env, url, headers, allowedTools, blockedTools, tokens } = server
  const values = (all: Record<string, string>, read: (key: string, value: string) => string) =>
    Object.fromEntries(Object.entries(all).map(([key, value]) => [key, read(key, literal(value))]))
  const own = {
    name,
    type,
    ...(command !== undefined && { command: texts.args([command])[0] }),
    ...(args.length > 0 && { args: texts.args(args) }),
    ...(Object.keys(env).length > 0 && { env: values(env, (key, value) => texts.env(key, value)) }),
    ...(url !== undefined && { url: texts.url(literal(url)) }),
    ...(Object.keys(headers).length > 0 && {
      headers: values(headers, (key, value) => texts.header(key, value)),
    }),
    ...(allowedTools && { allowedTools: allowedTools.map(unread) }),
    ...(blockedTools.length > 0 && { blockedTools: blockedTools.map(unread) }),
  }
  const auth = tokens.length > 0 && {
    mode: 'bearer',
    tokens: tokens.map((token) => ({ token: texts.token(token) })),
  }
  const value = { name, routers: [{ server: name, prefix, ...(auth && { auth }) }], mcpServers: [own] }
  const text = stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })
  return silenced(`# Made by plantgw import mcp.\n${text}`)
}

/** Escapes variables in a text. */
function unread(text: string): string {
  return text.replaceAll('${', '$$${')
}

/** The file determines the server's address, so advice against it is silenced with that reason. */
function silenced(text: string): string {
  const found = lintPractice(readConfiguration({ file: '', text }, SET), { production: true })
  const known = found.filter(
    ({ code }) => code === 'plain-http' || code === 'private-address' || code === 'insecure-url',
  )
  const lines = text.split('\n')
  for (const { code, range } of known) {
    const at = (range?.start.line ?? 1) - 1
    lines[at] += ` # plantgw-ignore ${code}: the imported file says so`
  }
  return lines.join('\n')
}

/** An environment with every variable set. */
const SET = new Proxy<Record<string, string>>(
  {},
  {
    get: () => 'set',
    has: () => true,
    getOwnPropertyDescriptor: () => ({ value: 'set', configurable: true, enumerable: true, writable: true }),
  },
)
