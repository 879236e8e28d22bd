import { stringify } from 'yaml'
import { readConfiguration } from '../checks/index.ts'
import { lintPractice } from '../checks/practice/index.ts'
import { DEFAULT_TENANT, type Source } from '../config/index.ts'
import { qualifiedName } from '../config/qualified-name.ts'
import type { Finding } from '../findings/index.ts'
import { type Json, type JsonObject, withoutComments } from '../json/index.ts'
import { visible } from '../mcp/visible.ts'
import type { ImportedConfiguration } from '../openapi/index.ts'
import { parseText } from '../openapi/open-document.ts'
import { isHeaderName, namer, slug } from '../openapi/tool-names.ts'
import { literal } from '../template/index.ts'
import { isIdentifier, isSecretHeader } from '../text/index.ts'
import { type ClientServer, serversOfLine } from './bridges.ts'
import { type ClientServers, clientServers } from './client-servers.ts'
import { Texts, type Variable, Variables } from './secret-variables.ts'

export interface ImportedServers {
  configurations: ImportedConfiguration[]
  skipped: { name: string; reason: string }[]
  /** Omitted settings of imported servers. */
  notes: { name: string; note: string }[]
  /** Names for `plantgw login` of servers that may ask for it. */
  logins: string[]
  /** Variables to set before the configurations are served. */
  variables: Variable[]
  /** Number of imported servers. */
  imported: number
}

type ServersResult =
  | ({ fault?: undefined; findings?: undefined } & ImportedServers)
  /** Why it contains no servers. */
  | { fault: string; findings?: undefined }
  /** It is JSON or YAML with errors. */
  | { fault?: undefined; findings: Finding[] }

/** The servers' common endpoint. */
interface Options {
  /** Name of the configuration, if there is one. Default: the server's, or the last part of the prefix. */
  name?: string | undefined
  /** One endpoint for all servers. Default: each has its own, in a configuration of its own. */
  prefix?: string | undefined
}

/**
 * Creates a configuration for each MCP server in a client's file (JSON with optional comments, or YAML), or in command
 * lines of supergateway, mcp-proxy or mcp-remote. Secrets become environment variables. Never throws because of the
 * text.
 */
export function importServers(source: Source, { name, prefix }: Options = {}): ServersResult {
  const read = readServers(source)
  if ('findings' in read || 'fault' in read) return read
  const unique = namer(60)
  const variables = new Variables(JSON.stringify(read.servers))
  const skipped = [...read.skipped]
  const notes = read.notes.map((note) => ({ name: 'the file', note }))
  const entries: Entry[] = []
  for (const given of read.servers) {
    const server = startable(given)
    if (typeof server === 'string') {
      skipped.push({ name: given.name, reason: server })
      continue
    }
    const wanted = read.servers.length === 1 && prefix === undefined ? name : undefined
    const own = unique(wanted ?? (slug(server.name) || 'server')).replaceAll('_', '-')
    const { tokens, cors } = server
    const texts = new Texts(variables, own)
    const auth = tokens.map((token) => ({ token: texts.token(token) }))
    entries.push({ name: own, server: serverOf(own, server, texts), auth, cors })
    for (const note of server.notes) notes.push({ name: own, note })
  }
  const askers = entries.filter(
    ({ server }) => (server.credentials as JsonObject | undefined)?.type === 'oauth',
  )
  const rest = { skipped, notes, variables: variables.found, imported: entries.length }
  if (prefix === undefined || entries.length === 0)
    return {
      ...rest,
      logins: askers.map((one) => one.name),
      configurations: entries.map((one) => configuration(one.name, `/${one.name}`, [one])),
    }
  if (new Set(entries.map(({ auth, cors }) => JSON.stringify([auth, cors]))).size > 1)
    return {
      fault:
        'their callers have different tokens or origins, so that they cannot have one endpoint: leave out --prefix',
    }
  const own = name ?? (slug(prefix) || 'servers')
  const logins = askers.map((one) =>
    qualifiedName({ tenant: DEFAULT_TENANT, name: own }, ...(one.name === own ? [] : [one.name])),
  )
  return { ...rest, logins, configurations: [configuration(own, prefix, entries)] }
}

/** A server, and what its router needs. */
interface Entry {
  name: string
  server: JsonObject
  auth: { token: string }[]
  cors: string[] | undefined
}

function readServers({ file, text }: Source): ClientServers | { fault: string } | { findings: Finding[] } {
  const plain = withoutComments(text)?.text ?? text
  // Only JSON and YAML files begin with a key.
  if (/^\uFEFF?\s*(?:#.*\n\s*)*(?:[{[]|---|["']?[\w-]+["']?:(?:\s|$))/.test(plain)) {
    const read = parseText({ file, text: plain })
    return 'findings' in read ? read : clientServers(read.value, file)
  }
  if (text.length > 64 * 1024) return { fault: 'it is neither a file of a client nor a command line' }
  return ofLines(text)
}

function ofLines(text: string): ClientServers | { fault: string } {
  const made: ClientServers = { servers: [], skipped: [], notes: [] }
  for (const line of text.replace(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const servers = serversOfLine(line.trim().replace(/^\$\s+/, ''))
    if (typeof servers === 'string') made.skipped.push({ name: line.trim().slice(0, 40), reason: servers })
    else made.servers.push(...servers)
  }
  const [first] = made.skipped
  return made.servers.length === 0 ? { fault: first?.reason ?? 'it is empty' } : made
}

function serverOf(name: string, server: ClientServer, texts: Texts): JsonObject {
  const { type, command, args, env, url, headers, allowedTools, blockedTools } = server
  const values = (all: Record<string, string>, read: (key: string, value: string) => string) =>
    Object.fromEntries(Object.entries(all).map(([key, value]) => [key, read(key, literal(value))]))
  const target = url === undefined ? undefined : texts.url(literal(url))
  const sent = values(headers, (key, value) => texts.header(key, value))
  const credentials = credentialsOf(server, { target, sent }, texts)
  return {
    name,
    type,
    ...(command !== undefined && { command: texts.args([command])[0]! }),
    ...(args.length > 0 && { args: texts.args(args) }),
    ...(Object.keys(env).length > 0 && { env: values(env, (key, value) => texts.env(key, value)) }),
    ...(target !== undefined && { url: target }),
    ...(Object.keys(sent).length > 0 && { headers: sent }),
    ...(credentials && { credentials }),
    ...(allowedTools && { allowedTools: allowedTools.map(unread) }),
    ...(blockedTools.length > 0 && { blockedTools: blockedTools.map(unread) }),
  }
}

/**
 * The `credentials` of a server. A hosted server whose file has no secret for it asks for the login of a person, or for nothing.
 * @param made its URL and headers as they are written
 */
function credentialsOf(
  { url = '', headers, login, oauth }: ClientServer,
  { target, sent }: { target: string | undefined; sent: Record<string, string> },
  texts: Texts,
): JsonObject | undefined {
  if (login) {
    const { tokenUrl, clientId } = login
    return {
      type: 'clientCredentials',
      tokenUrl,
      clientId,
      clientSecret: texts.clientSecret(login.clientSecret),
    }
  }
  const names = Object.keys(headers)
  if (names.some((name) => /^authorization$/i.test(name))) return undefined
  const hasSecret =
    target !== literal(url) || names.some((name) => isSecretHeader(name) || sent[name]?.includes('${'))
  if (!/^https:/i.test(url) || (hasSecret && !oauth)) return undefined
  const { clientId, clientSecret, scopes = [], resource } = oauth ?? {}
  return {
    ...{ type: 'oauth', for: 'gateway' },
    ...(clientId !== undefined && { clientId: texts.clientId(clientId) }),
    ...(clientId !== undefined &&
      clientSecret !== undefined && { clientSecret: texts.clientSecret(clientSecret) }),
    ...(scopes.length > 0 && { scopes: scopes.map(unread) }),
    ...(resource !== undefined && { resource: unread(resource) }),
  }
}

/** One endpoint for servers whose routers are alike. */
function configuration(name: string, prefix: string, entries: readonly Entry[]): ImportedConfiguration {
  const [{ auth, cors } = { auth: [], cors: undefined }] = entries
  const policy = {
    ...(cors && { cors: { allowOrigins: cors } }),
    ...(auth.length > 0 && { auth: { type: 'bearer', tokens: auth } }),
  }
  const isShort = entries.length === 1 && Object.keys(policy).length === 0
  const server = entries.length === 1 ? entries[0]!.name : entries.map((one) => one.name)
  const value = {
    name,
    ...(isShort ? { prefix } : { routers: [{ server, prefix, ...policy }] }),
    mcpServers: entries.map(({ server: { name: own, ...rest } }) =>
      isShort && own === name ? rest : { name: own!, ...rest },
    ),
  }
  const text = stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })
  return { name, prefix, text: silenced(`# Made by plantgw import mcp.\n${text}`), tools: [], variables: [] }
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

/**
 * A server without invisible characters, and without variables and headers that cannot be set, each reported as a note.
 * @returns the reason, as text, if it cannot be used
 */
function startable(given: ClientServer): ClientServer | string {
  if ([given.command ?? '', ...given.args].some((word) => word.includes('\0')))
    return 'its command contains a null byte'
  const env = parted(given.env, isVariable)
  const headers = parted(given.headers, isHeader)
  const left = [
    ...env.left.map(
      (name) =>
        `its variable ${JSON.stringify(name)} is left out, because of its name or a null byte: start the server by a script that sets it`,
    ),
    ...headers.left.map((name) => `its header ${JSON.stringify(name)} is left out: it cannot be sent`),
  ]
  const sound = { ...given, env: env.kept, headers: headers.kept, notes: [...given.notes, ...left] }
  // Characters removed later must not join into a template or variable.
  const server = visible(sound as unknown as Json) as unknown as ClientServer
  if ([server.command ?? '', ...server.args].some((word) => word.includes('{{')))
    return 'its command contains `{{`, which would be a template'
  return (server.url === undefined ? undefined : faultOf(server.url)) ?? server
}

/** A client variable may represent any part. */
function faultOf(url: string): string | undefined {
  if (/^\$\{/.test(url)) return undefined
  const [, scheme = ''] = /^([a-z][a-z\d+.-]{0,20}):/i.exec(url) ?? []
  if (!/^https?$/i.test(scheme)) return 'its URL is neither http nor https'
  return url.includes('${') || URL.canParse(url) ? undefined : 'its URL is not valid'
}

function isVariable(name: string, value: string): boolean {
  return isIdentifier(name) && !value.includes('\0')
}

/** RFC 9110, 5.5. */
function isHeader(name: string, value: string): boolean {
  return isHeaderName(name) && !/[^\t\x20-\x7e\x80-\xff]/.test(value)
}

function parted(all: Readonly<Record<string, string>>, isKept: (name: string, value: string) => boolean) {
  const entries = Object.entries(all)
  return {
    kept: Object.fromEntries(entries.filter((one) => isKept(...one))),
    left: entries.filter((one) => !isKept(...one)).map(([name]) => name),
  }
}
