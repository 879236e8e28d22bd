import { stringify } from 'yaml'
import { readConfiguration } from '../checks/index.ts'
import { lintPractice } from '../checks/practice/index.ts'
import type { Source } from '../config/index.ts'
import type { Finding } from '../findings/index.ts'
import type { JsonObject } from '../json/index.ts'
import { type ReadVariable, variablesRead } from '../template/index.ts'
import { groupBy, withoutEndSlashes } from '../text/index.ts'
import { checkNames, type Place } from './fixed.ts'
import { foundBy, type Group, groupsOf, type Member, type Tag, tagsOf } from './groups.ts'
import {
  mapOf,
  type Others,
  type Refs,
  readDocument,
  reasonOf,
  refsOf,
  textOf,
  type Version,
} from './open-document.ts'
import {
  isSelected,
  type Operation,
  operationsOf,
  type Selection,
  type Unread,
  unusedKeys,
} from './operations.ts'
import { outputOf } from './response-schema.ts'
import { credentialsOf, type FetchedToken, fetchedToken, unfetchedNotes } from './security.ts'
import { baseOf } from './servers.ts'
import { toolNames } from './short-names.ts'
import { oldSchemes } from './swagger.ts'
import { makeTool, type WrittenTool } from './tool.ts'
import { LENGTHS, plainText, titleSlug, toolName } from './tool-names.ts'
import { configurationYaml } from './yaml.ts'

export { readOthers } from './open-document.ts'

export interface ImportOptions extends Selection {
  /** Name of the configuration, and prefix of further ones. Default: from the document's title. */
  name?: string
  /** Where the tools are served. Default: `/` and the name. */
  prefix?: string
  /** Base URL of the API, replacing the document's servers. */
  server?: string
  /** Header templates for every tool; they override those of the document. */
  headers?: Readonly<Record<string, string>>
  /** Values that replace arguments by name: texts with `${NAME}`, or templates of `env`. */
  bind?: Readonly<Record<string, string>>
  /** Names of optional arguments to omit. */
  drop?: readonly string[]
  /** URL of the document. */
  base?: string
  /** Constant parts of an operation's calls. */
  fixed?: (operation: Operation) => FixedParts | undefined
  /** The command that created the configurations, for their first line. Default: `plantgw import openapi`, and the source. */
  made?: string
  /** Referenced files. Default: operations that need one are skipped. */
  others?: Others
  /** Maximum characters of a prefix's `tools/list`. Default 38,000, within the limit of `plantgw validate`. */
  listSize?: number
}

interface FixedParts {
  /** Templates. */
  headers: Readonly<Record<string, string>>
  /** A template with the body's properties as arguments. */
  body?: string
  followRedirects?: boolean
  /** The login's name for a part that looks like one, so that each login has its own variable. */
  login?: (place: Place, name: string) => string | undefined
}

export interface ImportedConfiguration {
  name: string
  prefix: string
  /** YAML. */
  text: string
  tools: string[]
  /** Environment variables read by its templates; those of MCP servers are listed by their import. */
  variables: ReadVariable[]
}

export interface Imported {
  /** Name of the configuration, and prefix of further ones. */
  name: string
  configurations: ImportedConfiguration[]
  /** Number of operations in the document. */
  operations: number
  imported: number
  /** Number excluded by the selection. */
  notSelected: number
  skipped: { operation: string; reason: string }[]
  /** Omitted parts of imported operations. */
  leftOut: { operation: string; what: string; reason: string }[]
  /** Tasks for a person, such as logging in. */
  notes: string[]
  /** How many tools have shorter names than their operations, because of the configuration's long name. */
  shortened?: { tools: number; name: string }
  /** All operations in document order. */
  listed: ListedOperation[]
  /** The tags described in the document. */
  tags: ReadonlyMap<string, Tag>
}

/** An operation, and the result of importing it. */
export interface ListedOperation {
  /** `GET /pets`; only a path if unreadable. */
  operation: string
  tags: readonly string[]
  summary: string
  /** Name of its tool; undefined: not imported. */
  name?: string
  /** Why it was skipped; undefined: imported, or excluded by the selection. */
  reason?: string
}

export type ImportResult =
  | ({ fault?: undefined; findings?: undefined } & Imported)
  /** Why it is not an OpenAPI document. */
  | { fault: string; findings?: undefined }
  /** It is neither JSON nor YAML. */
  | { fault?: undefined; findings: Finding[] }

/** Maximum characters of a configuration name that leaves room for tool names. */
const SHORT_NAME = 8
const LIST_SIZE = 38_000

/**
 * Creates configurations from an OpenAPI 3.0 or 3.1 or Swagger 2.0 document, without fetching anything. Unsupported
 * operations are skipped with a reason. Never throws because of a document's content.
 * @throws UsageError for `bind` or `drop` that no operation can follow
 */
export function importOpenApi(source: Source, options: ImportOptions = {}): ImportResult {
  const read = readDocument(source)
  if (!('document' in read)) return read
  const { document, version } = read
  const title = plainText(textOf(mapOf(document.info).title) ?? '', 200)
  const name = options.name ?? (titleSlug(title) || 'api')
  const found = toolsOf(document, version, name, options)
  const prefix = withoutEndSlashes(options.prefix ?? `/${name}`)
  const kind = version === '2.0' ? 'Swagger' : 'OpenAPI'
  const head = `Made by plantgw import openapi of the ${kind} description of ${title || name}.`
  const groups = groupsOf(found.members, options.listSize ?? LIST_SIZE)
  const shortened = nameTools(groups, name)
  const configurations =
    found.members.length === 0
      ? []
      : groups.map((group) => {
          describeTools(group, found.counts.tags, found.refs, options.listSize ?? LIST_SIZE)
          return write(group, { name, prefix, title, head: options.made ?? head, token: found.token })
        })
  const isLong = options.name === undefined && name.length > SHORT_NAME
  return {
    ...found.counts,
    imported: found.members.length,
    configurations,
    ...(isLong && shortened > 0 && { shortened: { tools: shortened, name } }),
  }
}

/** @returns how many names were shortened */
function nameTools(groups: readonly Group[], name: string): number {
  const all = groups.flatMap(({ end, members }) =>
    members.map((member) => ({ member, server: serverName(name, end) })),
  )
  const { names, shortened } = toolNames(
    all.map(({ member: { operation }, server }) => ({ ...operation, server })),
  )
  for (const [i, { member }] of all.entries()) {
    member.tool.name = names[i]!
    member.listed.name = names[i]!
  }
  return shortened
}

function serverName(name: string, end: string): string {
  return end === '' ? name : `${name}-${end}`
}

function toolsOf(document: JsonObject, version: Version, name: string, options: ImportOptions) {
  const refs = refsOf(document, options.others)
  const schemes = schemesOf(document, version, refs)
  const counts: Omit<Imported, 'configurations' | 'imported'> = {
    name,
    notes: [],
    operations: 0,
    notSelected: 0,
    skipped: [],
    leftOut: [],
    listed: [],
    tags: tagsOf(document),
  }
  const members: Member[] = []
  const decisions = { bind: options.bind ?? {}, drop: options.drop ?? [] }
  const shared = { refs, schemes, decisions, known: new Set<string>(), configuration: name }
  const bases = new Map<string, string>()
  const selected = [...operationsOf(document, version, refs)].filter(
    (one): one is Operation => 'method' in one && isSelected(one, options),
  )
  const token = loginOf(selected, { schemes, name, refs, options, notes: counts.notes })
  for (const one of unusedKeys(document, (key) => key !== 'webhooks'))
    counts.leftOut.push({ operation: 'the description', ...one })
  for (const operation of operationsOf(document, version, refs)) {
    if ('what' in operation && operation.what !== undefined) {
      counts.leftOut.push({ operation: operation.shown, what: operation.what, reason: operation.reason })
      continue
    }
    counts.operations++
    const listed = listedOperation(operation)
    counts.listed.push(listed)
    if ('reason' in operation) {
      counts.skipped.push({ operation: operation.shown, reason: operation.reason })
      continue
    }
    if (!isSelected(operation, options)) {
      counts.notSelected++
      continue
    }
    try {
      const base = baseOf(operation.servers, { name, server: options.server, base: options.base })
      const key = bases.get(base.template) ?? `url${bases.size === 0 ? '' : bases.size + 1}`
      const fixed = options.fixed?.(operation)
      const credentials = credentialsOf(token ? undefined : operation.security, schemes, name, refs)
      for (const [header, value] of Object.entries({ ...fixed?.headers, ...options.headers }))
        setHeader(credentials.headers, header, value)
      const wanted = toolName(operation.id, operation.method, operation.path)
      const isNamed = fixed?.body !== undefined
      const made = makeTool({
        ...shared,
        isNamed,
        login: fixed?.login,
        operation: token ? withoutLogin(operation) : operation,
        name: wanted,
        url: `{{.Config.${key}}}`,
        credentials,
      })
      if (fixed?.body !== undefined) made.tool.requestBody = fixed.body
      if (fixed?.followRedirects) made.tool.followRedirects = true
      bases.set(base.template, key)
      members.push({ ...made, operation, listed, config: new Map([[key, base.template], ...made.config]) })
      for (const one of [...operation.unused, ...made.leftOut])
        counts.leftOut.push({ operation: operation.shown, ...one })
    } catch (error) {
      listed.reason = reasonOf(error)
      counts.skipped.push({ operation: operation.shown, reason: listed.reason })
    }
  }
  checkNames(decisions, shared.known)
  return { members, counts, refs, token }
}

/** Without the header that the server's `credentials` set. */
function withoutLogin(operation: Operation): Operation {
  const isLogin = (one: JsonObject) => one.in === 'header' && /^authorization$/i.test(String(one.name))
  return { ...operation, parameters: operation.parameters.filter((one) => !isLogin(one)) }
}

/** The token that the gateway fetches for all operations; adds a note for each login that it does not. */
function loginOf(
  operations: readonly Operation[],
  {
    schemes,
    name,
    refs,
    options,
    notes,
  }: { schemes: JsonObject; name: string; refs: Refs; options: ImportOptions; notes: string[] },
): FetchedToken | undefined {
  if (Object.keys(options.headers ?? {}).some((header) => /^authorization$/i.test(header))) return undefined
  const security = operations.map((one) => one.security)
  const token = fetchedToken(security, schemes, name, refs)
  if (!token) notes.push(...unfetchedNotes(security, schemes, name, refs))
  else if (token.authorizationUrl !== undefined)
    notes.push(
      `${token.scheme}: one person logs in for all callers: register the gateway as a client of the API, add \`vault\` to the settings, and run \`plantgw login\` with the name of the configuration`,
    )
  return token
}

function listedOperation(operation: Operation | Unread): ListedOperation {
  if ('reason' in operation)
    return { operation: operation.shown, tags: [], summary: '', reason: operation.reason }
  const { shown, tags, summary, description } = operation
  return { operation: shown, tags, summary: plainText(summary || description, LENGTHS.nested) }
}

/** Unreadable schemes are reported by operations that need them. */
function schemesOf(document: JsonObject, version: Version, refs: Refs): JsonObject {
  if (version === '2.0') return oldSchemes(document)
  try {
    return refs.follow(refs.follow(document.components).securitySchemes)
  } catch (error) {
    reasonOf(error)
    return {}
  }
}

function setHeader(headers: Map<string, string>, name: string, value: string): void {
  for (const known of headers.keys()) if (known.toLowerCase() === name.toLowerCase()) headers.delete(known)
  headers.set(name, value)
}

/** Characters of an `outputSchema` beside the schema itself: its key, and the wrapper of an array. */
const OUTPUT_FRAME = 100

/** Adds search words, and output schemas while the list has room. */
function describeTools(
  { members }: Group,
  tags: ReadonlyMap<string, Tag>,
  refs: Refs,
  listSize: number,
): void {
  const several = new Set(members.map(({ operation }) => operation.tags[0])).size > 1
  let left = listSize - members.reduce((sum, { size }) => sum + size, 0)
  for (const { tool, operation } of members) {
    const { group, keywords } = foundBy(operation, tags)
    // A single group is already described by the server's name.
    if (several && group) tool.group = group
    if (keywords) tool.keywords = keywords
    const schema = outputOf(operation, refs)
    const size = schema ? JSON.stringify(schema).length + OUTPUT_FRAME : 0
    if (!schema || size > left) continue
    tool.outputSchema = schema
    left -= size
  }
}

function write(
  { end, members }: Group,
  {
    name,
    prefix,
    title,
    head,
    token,
  }: { name: string; prefix: string; title: string; head: string; token: FetchedToken | undefined },
): ImportedConfiguration {
  const own = serverName(name, end)
  const path = end === '' ? prefix : `${prefix}/${end}`
  const config = new Map(members.flatMap(({ config: entries }) => [...entries]))
  const tools = members.map(({ tool }) => tool)
  const templates = tools.flatMap(({ headers }) => Object.values(headers ?? {}).map(String))
  const { baseUrl, headers } = shareParts(tools, config)
  const ofToken = token ? [token.clientId, token.clientSecret] : []
  const variables = [
    ...[baseUrl, ...config.values(), ...templates].flatMap(variablesRead),
    ...ofToken.map((variable) => ({ name: variable, preset: undefined })),
  ]
  const about = [title || name, aboutOf(end, members)].filter(Boolean).join(': ')
  const text = configurationYaml({
    name: own,
    prefix: path || '/',
    description: about,
    baseUrl,
    headers,
    config,
    token,
    tools,
    head: [head],
    comment: commentOf(baseUrl),
  })
  return { name: own, prefix: path || '/', text, tools: tools.map((tool) => tool.name), variables }
}

/**
 * Moves what tools have in common to their server: the most frequent address becomes the `baseUrl`, and headers that all
 * of them send are removed from them.
 * @param config loses the address
 */
function shareParts(
  tools: readonly WrittenTool[],
  config: Map<string, string>,
): { baseUrl: string; headers: Record<string, string> } {
  const byBase = groupBy(tools, ({ endpoint }) => /^\{\{\.Config\.(url\d*)\}\}/.exec(endpoint)?.[1] ?? 'url')
  const [base, below] = [...byBase].sort(([, a], [, b]) => b.length - a.length)[0]!
  const baseUrl = config.get(base)!
  config.delete(base)
  for (const tool of below) tool.endpoint = tool.endpoint.slice(`{{.Config.${base}}}`.length)
  const [first] = tools
  // Headers of the server are for its own host, and cannot read arguments.
  const shared =
    tools.length < 2 || below.length < tools.length
      ? []
      : Object.entries((first!.headers ?? {}) as Record<string, string>).filter(
          ([name, value]) =>
            !/^content-type$/i.test(name) &&
            !value.includes('.Args') &&
            tools.every(({ headers }) => (headers as Record<string, string> | undefined)?.[name] === value),
        )
  for (const tool of tools) {
    const left = Object.entries(tool.headers ?? {}).filter(([name]) => !shared.some(([own]) => own === name))
    if (left.length > 0) tool.headers = Object.fromEntries(left)
    else delete tool.headers
  }
  return { baseUrl, headers: Object.fromEntries(shared) }
}

/** The tag common to all, or the name of the list. */
function aboutOf(end: string, members: readonly Member[]): string {
  const [tag, ...others] = new Set(members.map(({ operation }) => operation.tags[0]))
  return end === '' ? '' : plainText(others.length > 0 ? end : (tag ?? end), 80)
}

/** The document determines the API's address, so advice against it is silenced with that reason. */
function commentOf(baseUrl: string): string | undefined {
  if (baseUrl.startsWith('{{')) return undefined
  const text = stringify({ name: 'n', servers: [{ name: 'n', baseUrl }] })
  const codes = lintPractice(readConfiguration({ file: '', text }, {})).map(({ code }) => code)
  const known = codes.filter((code) => code === 'plain-http' || code === 'private-address')
  return known.length > 0 ? `plantgw-ignore ${known.join(', ')}: the description says so` : undefined
}
