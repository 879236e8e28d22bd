import { type Arg, type Configuration, offers, type Path, type Server, type Tool } from '../config/index.ts'
import { headerOf, pathArgsOf } from '../config/model.ts'
import { headersOf } from '../config/short-form.ts'
import { isObject, type JsonObject } from '../json/index.ts'
import { bodyPlace, type Place, type Roots } from '../template/index.ts'

/** Values that a template can read when it is rendered. */
type Phase = 'request' | 'response' | 'config' | 'base' | 'shared' | 'prompt' | 'upstream'

/** A template of a configuration, and its data. */
export interface Subject {
  source: string
  /** Path in the configuration. */
  path: Path
  place: Place
  phase: Phase
  roots: Roots
  /** The content of `.Args`. */
  args: Args
  /** Servers whose config it is rendered with. */
  servers: readonly Server[]
}

export interface Args {
  /** JSON Schemas by name. */
  schemas: ReadonlyMap<string, JsonObject>
  /** Arguments present in every call: required, or with a default. */
  always: ReadonlySet<string>
  required: ReadonlySet<string>
  /** Arguments of position `path`, which the endpoint must contain. */
  inPath: ReadonlySet<string>
  /** How those are written. */
  pathArgs: ReturnType<typeof pathArgsOf>
  /** Whether the author's schema allows further ones. */
  open: boolean
}

export const NO_ARGS: Args = {
  schemas: new Map(),
  always: new Set(),
  required: new Set(),
  inPath: new Set(),
  pathArgs: {},
  open: false,
}

export const REQUEST_FIELDS = ['Headers', 'Query', 'Cookies', 'Path', 'Body']
export const CALLER_FIELDS = ['subject', 'issuer', 'clientId', 'scopes', 'claims']
export const RESPONSE_FIELDS = ['Data', 'Body', 'Status', 'Headers']
const fields = (names: readonly string[]): Roots => Object.fromEntries(names.map((name) => [name, true]))

const CALLER: Roots = { Caller: fields(CALLER_FIELDS) }
const SHARED: Roots = { Config: true, Request: fields(REQUEST_FIELDS), ...CALLER }
const REQUEST: Roots = { ...SHARED, Args: true }
const ROOTS: Record<Phase, Roots> = {
  request: REQUEST,
  response: { ...REQUEST, Response: fields(RESPONSE_FIELDS) },
  config: {},
  base: { Config: true },
  shared: SHARED,
  prompt: { Args: true },
  upstream: { Request: fields(REQUEST_FIELDS), ...CALLER },
}

/** A tool, its templates, and their common data. */
export interface ToolSubjects {
  tool: Tool
  path: Path
  args: Args
  /** The endpoint's first. */
  subjects: Subject[]
}

/** The servers that offer a tool; if none does, one with the config of all. */
function offering({ servers }: Configuration, tool: Tool): Server[] {
  const found = servers.filter((server) => offers(server, tool.name))
  const [first] = servers
  if (found.length || !first) return found
  return [{ ...first, config: Object.assign({}, ...servers.map(({ config }) => config)) }]
}

/** Every template of a tool, which is rendered for each server that offers the tool. */
export function toolSubjects(configuration: Configuration, tool: Tool, index: number): ToolSubjects {
  const args = argsOf(tool)
  const servers = offering(configuration, tool)
  const make = (source: string, path: Path, place: Place, phase: Phase): Subject => ({
    source,
    path,
    place,
    phase,
    roots: ROOTS[phase],
    args,
    servers,
  })
  const subjects = [make(tool.endpoint.trimEnd(), ['tools', index, 'endpoint'], 'url', 'request')]
  for (const [name, source] of Object.entries(tool.headers))
    subjects.push(make(source, ['tools', index, 'headers', name], 'header', 'request'))
  const isForm = tool.args.some(({ position }) => position === 'form-data')
  if (tool.requestBody !== undefined && !isForm)
    subjects.push(
      make(tool.requestBody, ['tools', index, 'requestBody'], placeOfBody(tool, servers[0]), 'request'),
    )
  for (const key of ['responseBody', 'errorBody'] as const)
    if (tool[key] !== undefined) subjects.push(make(tool[key], ['tools', index, key], 'auto', 'response'))
  const { poll, done, failed, cancel } = tool.async ?? {}
  const ofAsync = (source: string, key: Path, place: Place) =>
    subjects.push(make(source.trim(), ['tools', index, 'async', ...key], place, 'response'))
  if (poll !== undefined) ofAsync(poll, ['poll'], 'url')
  if (cancel?.endpoint !== undefined) ofAsync(cancel.endpoint, ['cancel', 'endpoint'], 'url')
  if (done !== undefined) ofAsync(done, ['done'], 'text')
  if (failed !== undefined) ofAsync(failed, ['failed'], 'text')
  return { tool, path: ['tools', index], args, subjects }
}

/** Every template outside of tools. */
export function otherSubjects({ servers, prompts, mcpServers }: Configuration): Subject[] {
  const subjects: Subject[] = []
  const add = (source: string, path: Path, phase: Phase, more: Partial<Subject> = {}) =>
    subjects.push({
      source,
      path,
      place: 'text',
      phase,
      roots: ROOTS[phase],
      args: NO_ARGS,
      servers: [],
      ...more,
    })
  for (const [i, server] of servers.entries()) {
    const { config, baseUrl, headers = {} } = server
    for (const [key, source] of Object.entries(config)) add(source, ['servers', i, 'config', key], 'config')
    if (baseUrl !== undefined)
      add(baseUrl, ['servers', i, 'baseUrl'], 'base', { place: 'url', servers: [server] })
    for (const [key, source] of Object.entries(headers))
      add(source, ['servers', i, 'headers', key], 'shared', { place: 'header', servers: [server] })
  }
  for (const [i, { arguments: args, promptResponse }] of prompts.entries()) {
    const schemas = new Map(args.map(({ name }) => [name, { type: 'string' }]))
    const always = new Set(args.filter(({ required }) => required).map(({ name }) => name))
    for (const [j, { content }] of promptResponse.entries())
      add(content.text, ['prompts', i, 'promptResponse', j, 'content', 'text'], 'prompt', {
        args: { ...NO_ARGS, schemas, always, required: always },
      })
  }
  for (const [i, { env, url, headers }] of mcpServers.entries()) {
    if (url !== undefined) add(url, ['mcpServers', i, 'url'], 'upstream')
    for (const [key, source] of Object.entries(env)) add(source, ['mcpServers', i, 'env', key], 'upstream')
    for (const [key, source] of Object.entries(headers))
      add(source, ['mcpServers', i, 'headers', key], 'upstream')
  }
  return subjects
}

/** Possible arguments of calls: of `inputSchema`, else of `args`. */
function argsOf({ args, inputSchema }: Tool): Args {
  const schemas = new Map<string, JsonObject>()
  const required = new Set<string>()
  const always = new Set<string>()
  const inPath = new Set<string>()
  for (const arg of args) {
    const { name } = arg
    schemas.set(name, schemaOf(arg))
    if (arg.required) required.add(name)
    if (arg.default !== undefined || arg.const !== undefined) always.add(name)
    if (arg.position === 'path') inPath.add(name)
  }
  if (isObject(inputSchema?.properties))
    for (const [name, schema] of Object.entries(inputSchema.properties))
      if (isObject(schema)) schemas.set(name, schema)
  if (Array.isArray(inputSchema?.required))
    for (const name of inputSchema.required) if (typeof name === 'string') required.add(name)
  for (const name of required) always.add(name)
  const open = inputSchema !== undefined && inputSchema.additionalProperties !== false
  return { schemas, always, required, inPath, pathArgs: pathArgsOf(args), open }
}

function schemaOf({
  type,
  const: fixed,
  enum: values,
  items,
  properties,
  default: fallback,
}: Arg): JsonObject {
  return {
    type,
    ...(fixed !== undefined && { const: fixed }),
    ...(values && { enum: values }),
    ...(items && { items }),
    ...(properties && { properties }),
    ...(fallback !== undefined && { default: fallback }),
  }
}

/** As requests are built: by the tool's Content-Type, JSON by default. */
function placeOfBody(tool: Tool, server: Server | undefined): Place {
  const { args } = tool
  const type = mediaTypeOf(tool, server)
  if (args.some((arg) => headerOf(arg)?.toLowerCase() === 'content-type')) return bodyPlace(undefined)
  if (type === undefined) return 'json'
  // Its value may depend on the server.
  return type.includes('{{') ? 'auto' : bodyPlace(type)
}

export function mediaTypeOf(tool: Tool, server: Server | undefined): string | undefined {
  const type = headersOf(tool, [], server).findLast(({ name }) => name.toLowerCase() === 'content-type')
  if (type === undefined || type.source.includes('{{')) return type?.source
  return type.source.split(';')[0]!.trim().toLowerCase()
}
