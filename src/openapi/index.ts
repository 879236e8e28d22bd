import { stringify } from 'yaml'
import { readConfiguration } from '../checks/index.ts'
import { lintPractice } from '../checks/practice/index.ts'
import type { Source } from '../config/index.ts'
import type { Finding } from '../findings/index.ts'
import type { JsonObject } from '../json/index.ts'
import { type ReadVariable, variablesRead } from '../template/index.ts'
import { checkNames, type Place } from './fixed.ts'
import { type Group, groupsOf, type Member } from './groups.ts'
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
import { isSelected, type Operation, operationsOf, type Selection, type Unread } from './operations.ts'
import { outputOf } from './response-schema.ts'
import { credentialsOf } from './security.ts'
import { baseOf, withoutEnd } from './servers.ts'
import { toolNames } from './short-names.ts'
import { oldSchemes } from './swagger.ts'
import { foundBy, type Tag, tagsOf } from './tags.ts'
import { makeTool } from './tool.ts'
import { LENGTHS, plainText, titleSlug, toolName } from './tool-names.ts'
import { configurationYaml } from './yaml.ts'

export { readOthers } from './open-document.ts'

export interface ImportOptions extends Selection {
  /** Of the configuration; those of several begin with it. Default: made of the document's title. */
  name?: string
  /** Where the tools are served. Default: `/` and the name. */
  prefix?: string
  /** Base URL of the API instead of the document's servers. */
  server?: string
  /** Headers of every tool, as templates; they win over those of the document. */
  headers?: Readonly<Record<string, string>>
  /** Values that are sent instead of arguments of these names: texts with `${NAME}`, or templates of `env`. */
  bind?: Readonly<Record<string, string>>
  /** Names of optional arguments that are left out. */
  drop?: readonly string[]
  /** URL that the document was read from. */
  base?: string
  /** What every call of an operation sends as it is. */
  fixed?: (operation: Operation) => FixedParts | undefined
  /** What made the configurations, for their first line. Default: `plantgw import openapi`, and of what. */
  made?: string
  /** The files that it refers to. Default: what refers to one is skipped. */
  others?: Others
  /** Characters of a prefix's `tools/list`. Default 38,000, which `plantgw validate` says nothing against. */
  listSize?: number
}

export interface FixedParts {
  /** Templates. */
  headers: Readonly<Record<string, string>>
  /** A template in which the properties of the body are arguments. */
  body?: string
  followRedirects?: boolean
  /** The name of the login that a part is, where it is called like one: each has a variable of its own. */
  login?: (place: Place, name: string) => string | undefined
}

export interface ImportedConfiguration {
  name: string
  prefix: string
  /** YAML. */
  text: string
  tools: string[]
  /** Those of the environment that its templates read; not those of MCP servers, which their import lists. */
  variables: ReadVariable[]
}

export interface Imported {
  configurations: ImportedConfiguration[]
  /** All operations of the document. */
  operations: number
  imported: number
  /** Those that the selection leaves out. */
  notSelected: number
  skipped: { operation: string; reason: string }[]
  /** Parts of operations that were imported. */
  leftOut: { operation: string; what: string; reason: string }[]
  /** How many tools have a shorter name than their operation, for the length of a name that the title says. */
  shortened?: { tools: number; name: string }
  /** All operations in the order of the document. */
  listed: ListedOperation[]
  /** The tags that the document describes. */
  tags: ReadonlyMap<string, Tag>
}

/** An operation, and what became of it. */
export interface ListedOperation {
  /** `GET /pets`; only a path where that cannot be read. */
  operation: string
  tags: readonly string[]
  summary: string
  /** Of its tool; undefined: it was not imported. */
  name?: string
  /** Why it was skipped; undefined: it was not, or the selection leaves it out. */
  reason?: string
}

export type ImportResult =
  | ({ fault?: undefined; findings?: undefined } & Imported)
  /** Why it is not an OpenAPI document. */
  | { fault: string; findings?: undefined }
  /** It is neither JSON nor YAML. */
  | { fault?: undefined; findings: Finding[] }

/** Characters of a name that leave enough for those of tools. */
const SHORT_NAME = 8
const LIST_SIZE = 38_000

/**
 * Makes configurations of an OpenAPI 3.0 or 3.1 or a Swagger 2.0 document. Nothing is fetched. What cannot be
 * expressed is skipped with a reason. Never throws on what a document says.
 * @throws Misuse for `bind` or `drop` that no operation can follow
 */
export function importOpenApi(source: Source, options: ImportOptions = {}): ImportResult {
  const read = readDocument(source)
  if (!('document' in read)) return read
  const { document, version } = read
  const title = plainText(textOf(mapOf(document.info).title) ?? '', 200)
  const name = options.name ?? (titleSlug(title) || 'api')
  const found = toolsOf(document, version, name, options)
  const prefix = withoutEnd(options.prefix ?? `/${name}`)
  const kind = version === '2.0' ? 'Swagger' : 'OpenAPI'
  const head = `Made by plantgw import openapi of the ${kind} description of ${title || name}.`
  const groups = groupsOf(found.members, options.listSize ?? LIST_SIZE)
  const shortened = nameTools(groups, name)
  const configurations =
    found.members.length === 0
      ? []
      : groups.map((group) => {
          describeTools(group, found.counts.tags, found.refs, options.listSize ?? LIST_SIZE)
          return write(group, { name, prefix, title, head: options.made ?? head })
        })
  const isLong = options.name === undefined && name.length > SHORT_NAME
  return {
    ...found.counts,
    imported: found.members.length,
    configurations,
    ...(isLong && shortened > 0 && { shortened: { tools: shortened, name } }),
  }
}

/** @returns how many names are not whole */
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
  for (const operation of operationsOf(document, version, refs)) {
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
      const credentials = credentialsOf(operation.security, schemes, name, refs)
      for (const [header, value] of Object.entries({ ...fixed?.headers, ...options.headers }))
        setHeader(credentials.headers, header, value)
      const wanted = toolName(operation.id, operation.method, operation.path)
      const isNamed = fixed?.body !== undefined
      const made = makeTool({
        ...shared,
        isNamed,
        login: fixed?.login,
        operation,
        name: wanted,
        url: `{{.Config.${key}}}`,
        credentials,
      })
      if (fixed?.body !== undefined) made.tool.requestBody = fixed.body
      if (fixed?.followRedirects) made.tool.followRedirects = true
      bases.set(base.template, key)
      members.push({ ...made, operation, listed, config: new Map([[key, base.template], ...made.config]) })
      for (const one of made.leftOut) counts.leftOut.push({ operation: operation.shown, ...one })
    } catch (error) {
      listed.reason = reasonOf(error)
      counts.skipped.push({ operation: operation.shown, reason: listed.reason })
    }
  }
  checkNames(decisions, shared.known)
  return { members, counts, refs }
}

function listedOperation(operation: Operation | Unread): ListedOperation {
  if ('reason' in operation)
    return { operation: operation.shown, tags: [], summary: '', reason: operation.reason }
  const { shown, tags, summary, description } = operation
  return { operation: shown, tags, summary: plainText(summary || description, LENGTHS.nested) }
}

/** Schemes that cannot be read are reported by the operations that need them. */
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

/** Of a tool that has an `outputSchema`, beside the schema: its key, and what wraps an array. */
const OUTPUT_FRAME = 100

/** Adds what tools are found by, and what they return as long as the list has room. */
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
    // A group for all says nothing that the name of the server does not.
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
  { name, prefix, title, head }: { name: string; prefix: string; title: string; head: string },
): ImportedConfiguration {
  const own = serverName(name, end)
  const path = end === '' ? prefix : `${prefix}/${end}`
  const config = new Map(members.flatMap(({ config: entries }) => [...entries]))
  const templates = members.flatMap(({ tool }) => Object.values(tool.headers ?? {}).map(String))
  const variables = [...config.values(), ...templates].flatMap(variablesRead)
  const about = [title || name, aboutOf(end, members)].filter(Boolean).join(': ')
  const text = configurationYaml({
    name: own,
    prefix: path || '/',
    description: about,
    config,
    tools: members.map(({ tool }) => tool),
    head: [head],
    comments: commentsOf(config),
  })
  return { name: own, prefix: path || '/', text, tools: members.map(({ tool }) => tool.name), variables }
}

/** The tag that all of them have, else what the list is named after. */
function aboutOf(end: string, members: readonly Member[]): string {
  const [tag, ...others] = new Set(members.map(({ operation }) => operation.tags[0]))
  return end === '' ? '' : plainText(others.length > 0 ? end : (tag ?? end), 80)
}

/** The document decides where its API is: what is advised against there is silenced with that reason. */
function commentsOf(config: ReadonlyMap<string, string>): Map<string, string> {
  const made = new Map<string, string>()
  for (const [key, value] of config) {
    if (!/^url\d*$/.test(key) || value.startsWith('{{')) continue
    const text = stringify({ name: 'n', servers: [{ name: 'n', config: { url: value } }] })
    const codes = lintPractice(readConfiguration({ file: '', text }, {})).map(({ code }) => code)
    const known = codes.filter((code) => code === 'plain-http' || code === 'private-address')
    if (known.length > 0) made.set(key, `plantgw-ignore ${known.join(', ')}: the description says so`)
  }
  return made
}
