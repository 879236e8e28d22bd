import { createHash } from 'node:crypto'
import type { Identity } from '../access/identity.ts'
import type { McpServer } from '../config/model.ts'
import type { UsedVariable } from '../config/secret-files.ts'
import { TRANSPORTS, type Transport } from '../config/transports.ts'
import type { Credential, Credentials } from '../credentials/credential.ts'
import { Fault } from '../mcp/index.ts'
import { Cancellation } from '../net/cancel.ts'
import type { Connection } from '../net/index.ts'
import { type Place, type Reference, RenderError, type Template } from '../template/index.ts'
import { lazy, quoteAll } from '../text/index.ts'
import { headerPlace, wireText } from '../tools/argument-text.ts'
import { authoredOrigins } from '../tools/endpoint.ts'
import { rootBuilder } from '../tools/root.ts'
import { type ConfiguredSecret, configuredSecrets, secretsOfRequest, textsToMask } from '../tools/secrets.ts'
import { CALLER, reads, templateCompiler } from '../tools/templates.ts'
import type { Problem } from '../tools/types.ts'
import type { Pinned } from './view/pins.ts'

/** Values that templates of an MCP server may read. */
const ROOTS = { Request: { Headers: true, Query: true, Cookies: true }, Caller: CALLER } as const

/** Request data available to templates. */
export interface RequestFacts {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  query(): Readonly<Record<string, string>>
  /** Absent: anonymous. */
  readonly identity?: Identity | undefined
}

/** An MCP server's `env`, `url` and `headers` for one caller. */
export interface Resolved {
  env: Readonly<Record<string, string>>
  /** Scheme, host and port; empty for `stdio`. */
  origin: string
  /** Path and query. */
  path: string
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  /** Digest of the values. */
  key: string
  /** Set if the caller's request determines the host. */
  decided?: true
  /** Provides the header that `credentials` add to each request. */
  credential?: Credential
  /** Reason why this caller may not use the server, although others may be available. */
  refusal?: Fault
}

/** A compiled `mcpServers` entry. */
export interface Definition {
  server: McpServer
  /** The transport of its `type`. */
  transport: Transport
  /** Equal for definitions that routers can share; absent: not shared. */
  id?: string
  /** Whether a template reads the request, or credentials depend on the caller. */
  varies: boolean
  /** Whether credentials depend on the caller, and follow its newest token. */
  perCaller: boolean
  /** Whether the caller's `Authorization` is forwarded, so that a refusal concerns the caller. */
  forwardsAuthorization: boolean
  /** Secrets in `env`, `url` and `headers`, which are masked in results. */
  secrets: readonly string[]
  /** Sources of the secrets, to explain why something is masked. */
  secretsFrom: readonly string[]
  /** Pin file to compare declarations with, if any. */
  pinned?: Pinned
  /** Connection settings for HTTP. */
  connection?: Connection | undefined
  /** Never throws. */
  resolve(facts: RequestFacts): Resolved | Fault
}

type Path = (string | number)[]

interface Named {
  name: string
  template: Template
}

/**
 * Compiles the templates of an MCP server. Never throws.
 * @param credentials from its `credentials`
 * @param connection from its `tls` and `proxy`
 * @param used environment variables read by the file; default: those read by the entry's templates
 */
export function compileDefinition(
  server: McpServer,
  path: Path,
  env: Readonly<Record<string, string | undefined>>,
  credentials?: Credentials,
  connection?: Connection,
  used?: readonly UsedVariable[],
): { definition: Definition; problems: Problem[] } {
  const problems: Problem[] = []
  const compile = templateCompiler(env, problems)
  const one = (source: string, at: Path, place: Place) => {
    const template = compile(source, at, place, ROOTS)
    for (const reference of template?.references ?? []) checkReference(reference, at, problems)
    return template
  }
  const many = (key: 'env' | 'headers', place: (name: string) => Place) =>
    Object.entries(server[key]).flatMap(([name, source]) => {
      const template = one(source, [...path, key, name], place(name))
      return template ? [{ name, template }] : []
    })
  const transport = TRANSPORTS[server.type]
  const { keys } = transport
  const variables = keys.includes('env') ? many('env', () => 'text') : []
  const headers = keys.includes('headers') ? many('headers', headerPlace) : []
  const url = keys.includes('url') ? one(server.url ?? '', [...path, 'url'], 'url') : undefined
  const templates = [...variables, ...headers].map(({ template }) => template)
  if (url) templates.push(url)
  const reading = templates.some(({ references }) => references.length > 0)
  const perCaller = credentials?.perCaller ?? false
  const varies = reading || perCaller
  problems.push(...problemsOf(server, path, { reading, perCaller, url, headers }))
  const build = rootBuilder({}, templates)
  const ofCaller = templates.some((template) => reads(template, 'Caller'))
  const authored = url && lazy(() => authoredOrigins(url))

  function resolve(facts: RequestFacts): Resolved | Fault {
    const root = build({}, { ...facts, signal: NEVER, body: undefined } as never)
    try {
      const values = render(variables, root, 'the variable')
      const sent = render(headers, root, 'the header', true)
      const target = url ? readUrl(renderOne(url, root, 'url') ?? '') : { origin: '', path: '' }
      if ('fault' in target)
        return new Fault('refused', `The URL of the server ${server.name} ${target.fault}`)
      const decided = authored && !authored().has(target.origin)
      const credential = credentials?.of(facts)
      if (credential instanceof Fault) return credential
      if ((credential || connection?.tls?.isIdentity) && decided)
        return new Fault(
          'refused',
          `The server ${server.name} has credentials, which are not sent to a host that the request decides`,
        )
      const key = createHash('sha256')
        // Values for one caller are never shared with another, even if equal.
        .update(JSON.stringify([values, target, sent, ...(ofCaller ? [facts.identity?.caller ?? null] : [])]))
        .update(credential?.key ?? '')
        .digest('base64url')
      const resolved: Resolved = { env: values, ...target, headers: sent, key }
      return { ...resolved, ...(decided && { decided }), ...(credential && { credential }) }
    } catch (error) {
      if (error instanceof TemplateFault)
        return new Fault('refused', `The server ${server.name}: ${error.message}`)
      throw error
    }
  }
  // Values that depend on nothing are computed once.
  const constant = varies || problems.length ? undefined : resolve({ headers: {}, query: () => ({}) })
  const secrets = secretsIn(server, { variables, headers, url }, env, used)
  const definition: Definition = {
    server,
    transport,
    varies,
    perCaller,
    secrets: textsToMask(secrets.map(({ value }) => value)),
    secretsFrom: [...new Set(secrets.map(({ from }) => from))],
    connection,
    forwardsAuthorization: templates.some(({ references }) => references.some(namesAuthorization)),
    resolve: constant ? () => constant : resolve,
  }
  return { definition, problems }
}

/** Problems of a server other than template errors. */
function problemsOf(
  server: McpServer,
  path: Path,
  {
    reading,
    perCaller,
    url,
    headers,
  }: { reading: boolean; perCaller: boolean; url: Template | undefined; headers: readonly Named[] },
): Problem[] {
  const problems: Problem[] = []
  const varies = reading || perCaller
  const why = reading ? 'a template of it reads the request' : 'each caller has a token of its own'
  const or = reading ? 'take the request out of `env`, `url` and `headers`' : 'use other `credentials`'
  if (varies && server.isolation === 'shared')
    problems.push({
      path: [...path, 'isolation'],
      code: 'upstream-shared',
      severity: 'error',
      message: `the MCP server ${JSON.stringify(server.name)} is shared by all callers, but ${why}`,
      hint: `Write \`isolation: credential\`, or ${or}`,
    })
  for (const key of ['policy', 'preinstalled'] as const)
    if (varies && (server[key] === 'onStart' || server[key] === true))
      problems.push({
        path: [...path, key],
        code: 'upstream-start',
        severity: 'warning',
        message: `the MCP server ${JSON.stringify(server.name)} cannot be started before a request, as ${why}`,
        hint: `Remove \`${key}\`, or ${or}`,
      })
  if (!varies && url) {
    const read = readUrl(url.constant ?? '')
    if ('fault' in read)
      problems.push({
        path: [...path, 'url'],
        code: 'invalid-value',
        severity: 'error',
        message: `the URL ${read.fault}`,
        hint: 'Write it like `http://localhost:3000/mcp`',
      })
  }
  for (const { name } of headers)
    if (OWN_HEADERS.test(name))
      problems.push({
        path: [...path, 'headers', name],
        code: 'forbidden-header',
        severity: 'error',
        message: `the header ${JSON.stringify(name)} belongs to the transport`,
        hint: 'Remove it',
      })
  return problems
}

/** Secrets exclude values that read the request, which belong to the caller. */
function secretsIn(
  { args, env: variables, headers, url = '' }: McpServer,
  templates: { variables: Named[]; headers: Named[]; url: Template | undefined },
  env: Readonly<Record<string, string | undefined>>,
  used: readonly UsedVariable[] | undefined,
): ConfiguredSecret[] {
  const constant = (named: Named[]) =>
    named.flatMap(({ name, template }) =>
      template.constant === undefined ? [] : [[name, template.constant]],
    )
  const texts = [url, ...args, ...Object.values(variables), ...Object.values(headers)]
  const own = Object.fromEntries(constant(templates.variables))
  const configured = configuredSecrets(texts, 'env', own, env, used)
  const request = {
    headers: constant(templates.headers).flat() as string[],
    path: templates.url?.constant ?? '',
  }
  return [...configured, ...secretsOfRequest(request)]
}

function checkReference(
  { path: [root, field], start, end }: Reference,
  path: Path,
  problems: Problem[],
): void {
  if ((root === 'Request' || root === 'Caller') && (field === undefined || Object.hasOwn(ROOTS[root], field)))
    return
  const message = `templates of MCP servers cannot read \`.${[root, field].filter(Boolean).join('.')}\``
  const names = (['Request', 'Caller'] as const).flatMap((of) =>
    Object.keys(ROOTS[of]).map((name) => `.${of}.${name}`),
  )
  const hint = `There are ${quoteAll(names)}`
  problems.push({ path, start, end, code: 'template-context', severity: 'error', message, hint })
}

const NEVER = new Cancellation()
/** Headers set by the transport itself. */
const OWN_HEADERS =
  /^(mcp-.*|host|connection|content-.*|transfer-encoding|accept|te|trailer|upgrade|keep-alive|expect)$/i

class TemplateFault extends Error {}

function namesAuthorization({ path }: Reference): boolean {
  return path[1] === 'Headers' && (path[2] ?? 'authorization').toLowerCase() === 'authorization'
}

function render(
  templates: { name: string; template: Template }[],
  root: object,
  what: string,
  header = false,
): Record<string, string> {
  const values: Record<string, string> = {}
  for (const { name, template } of templates) {
    const value = renderOne(template, root, `${what} ${name}`)
    // A value missing from the request omits the variable or header.
    if (value === undefined || (value === '' && template.references.length > 0)) continue
    if (header)
      Object.defineProperty(values, name.toLowerCase(), { value: wireText(value), enumerable: true })
    else Object.defineProperty(values, name, { value, enumerable: true })
  }
  return values
}

function renderOne(template: Template, root: object, what: string): string | undefined {
  try {
    return template.render(root)
  } catch (error) {
    if (error instanceof RenderError) throw new TemplateFault(`${what} could not be made: ${error.message}`)
    throw error
  }
}

function readUrl(text: string): { origin: string; path: string } | { fault: string } {
  if (!URL.canParse(text)) return { fault: 'is not an absolute URL' }
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { fault: 'is neither http nor https' }
  if (url.username || url.password) return { fault: 'holds a user name or password; send them as a header' }
  return { origin: url.origin, path: url.pathname + url.search }
}
