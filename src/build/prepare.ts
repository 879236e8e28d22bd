import { createCors } from '../access/cors.ts'
import type { Rates } from '../access/rate.ts'
import { lintTemplates } from '../checks/templates/index.ts'
import {
  type Configuration,
  type Cors,
  DEFAULT_TENANT,
  type Limits,
  oauthOf,
  qualifiedName,
  type ReadConfiguration,
  type Router,
  type Server,
  serverNames,
  type TenantSettings,
  uniqueName,
} from '../config/index.ts'
import { envOfTenant } from '../config/tenant-env.ts'
import { type CredentialsOf, credentialsFor } from '../credentials/credential.ts'
import { type Finding, type Range, toFinding } from '../findings/index.ts'
import { type Json, stringify } from '../json/index.ts'
import type { Witness } from '../mcp/index.ts'
import { visible } from '../mcp/visible.ts'
import type { HttpClient } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type {
  CallRecord,
  SessionRecord,
  StreamRecord,
  UpstreamCallRecord,
  UpstreamSessionRecord,
} from '../telemetry/metrics.ts'
import type { Tracer } from '../telemetry/trace.ts'
import type { Memo } from '../template/index.ts'
import { giveWayToCalls } from '../text/index.ts'
import { createToolsBackend } from '../tools/backend.ts'
import { connectionOf, connectionStamp } from '../tools/connection.ts'
import { compilePrompts, compileTools, type Problem, type Prompts, type Tools } from '../tools/index.ts'
import { compileDefinition } from '../upstream/definition.ts'
import type { CreateResilience, createProxy, McpProxy, PinRecord } from '../upstream/index.ts'
import type { Outbound } from './outbound.ts'
import type { PinLocks } from './pin-lock.ts'
import { KnownIssuers, routeAuth } from './route-auth.ts'
import type { Kept, Prepared, Route, Served } from './types.ts'

export interface PrepareContext extends AssembleContext {
  /** Of the configuration that is replaced, by their keys. */
  kept?: Prepared['resiliences']
  /** What `plantgw.lock` files pin. */
  pins: PinLocks
}

/** What does not change while configurations are compiled. */
export interface AssembleContext {
  env: Readonly<Record<string, string | undefined>>
  limits: Limits
  http: HttpClient
  /** What judges connections, by tenant; absent where nothing is sent. */
  outbound?: Outbound
  log: Logger
  version: string
  /** Templates that the same run has compiled. */
  memo?: Memo
  /** Is called after every call. */
  onCall?: (call: CallRecord) => void
  /** Is called after every session of a client. */
  onSession?: (session: SessionRecord) => void
  /** Are called after every request to an MCP server, and every session with one. */
  onUpstreamCall?: (call: UpstreamCallRecord) => void
  onUpstreamSession?: (session: UpstreamSessionRecord) => void
  /** Is called for every event stream of an MCP server that is lost or regained. */
  onStream?: (record: StreamRecord) => void
  /** Writes the audit log; absent: there is none. */
  witness?: Witness
  /** Records traces; absent: none are. */
  tracer?: Tracer | undefined
  /** Is called for every change of what an MCP server declares since it was pinned. */
  onPinChange?: (change: PinRecord) => void
  /** Whose credentials open their routers. */
  tenants?: readonly TenantSettings[]
  /** Of the settings. */
  publicUrl?: string
  /** Authorization servers that are known; absent where nothing is served. */
  issuers?: KnownIssuers
  /** Counts requests; absent where nothing is served. */
  rates?: Rates
  /** Makes what retries and circuit breakers of a server need; absent where nothing is served. */
  createResilience?: CreateResilience
  /** Makes what proxies MCP servers; absent where configurations are only looked at. */
  createProxy?: typeof createProxy
  /** Proxies that are served now, by key, to be kept. */
  proxies: ReadonlyMap<string, Served>
}

interface Found {
  finding: Finding
  ofTemplate: boolean
}

/** Compiles all that one configuration serves. Never throws: what is wrong comes back as findings. */
function prepare(
  read: ReadConfiguration & { configuration: Configuration },
  given: PrepareContext,
): { prepared: Prepared; found: Found[] } {
  const { configuration, file, text } = read
  const context = contextFor(configuration, given)
  const found = new Map<string, Found>()
  const report = (problems: readonly Problem[]) => {
    for (const problem of problems) {
      const made = toFinding(problem, read)
      // Tools that several servers share are compiled for each, and complain once.
      const key = JSON.stringify([made.code, made.range?.start.offset, made.message])
      found.set(key, { finding: made, ofTemplate: problem.ofTemplate ?? false })
    }
  }
  const { issuers = new KnownIssuers(context) } = context
  const credentialsOf = credentialsFor({ ...issuers.parts, guards: context.guards })
  const { prompts, problems } = compilePrompts(configuration, context)
  report(problems)
  const resiliences = new Map<string, Kept>()
  const compiled = new Map(
    configuration.servers.map((server, i) => {
      const kept = resilienceOf(configuration, server, context)
      if (kept) resiliences.set(kept.key, kept)
      const { connection, problems: ofTls } = connectionOf(server, ['servers', i], context.readsFiles)
      report(ofTls)
      const own = { ...context, connection, resilience: kept?.resilience, credentialsOf }
      const { tools, problems } = compileTools(configuration, server, own)
      report(problems)
      return [server.name, { server, tools, prompts }] as const
    }),
  )
  const { name, tenant, notifier } = configuration
  const routes = configuration.routers.flatMap((router): Route[] => {
    const auth = routeAuth(configuration, router, { ...context, issuers })
    const names = serverNames(router)
    const own = compiled.get(names[0] as string)
    const answering =
      answeringProxy(read, names, router, { ...context, credentialsOf }, report) ??
      (own && answeringTools(own, configuration, auth.authenticate !== undefined, context))
    if (!answering) return []
    const prefix = router.prefix === '/' ? '' : router.prefix
    const rate = context.rates?.of({ prefix: router.prefix, tenant, rate: router.rate })
    const route: Route = {
      ...answering,
      prefix,
      ssePrefix: router.ssePrefix ?? prefix,
      configuration: name,
      tenant,
      account: { tenant, prefix: router.prefix, ...listenersOf(context) },
      ...(router.cors && { cors: createCors(corsOf(router.cors, router)) }),
      ...auth,
      ...(rate && { rate }),
      ...(router.approval === 'elicitation' && { approval: { server: names.join(', ') } }),
    }
    return [route]
  })
  const claims = claimsOf(uniqueName(configuration, context.tenants), routes)
  const stamp = stampOf(file, configuration, given)
  const prepared = {
    id: qualifiedName(configuration),
    name,
    tenant,
    file,
    text,
    ...(stamp && { stamp }),
    since: new Date().toISOString(),
    routes,
    claims,
    ...(resiliences.size > 0 && { resiliences }),
    ...(notifier && { notifier, guard: context.guards?.named }),
  }
  return { prepared, found: [...found.values()] }
}

/**
 * Differs once other files that a configuration is made of do: what was pinned of its MCP servers, and certificates;
 * empty where it has none.
 */
export function stampOf(
  file: string,
  configuration: Configuration,
  { pins, tenants }: Pick<PrepareContext, 'pins' | 'tenants'>,
): string {
  const { servers, mcpServers, tenant } = configuration
  const certificates = connectionStamp([...servers, ...mcpServers], readsFiles(tenant, tenants))
  return [pins.stamp(file, configuration), certificates].filter(Boolean).join('\n')
}

/** Whether the author of a tenant's configurations may have files read as the gateway's user. */
function readsFiles(tenant: string, tenants: readonly TenantSettings[] | undefined): boolean {
  return tenant === DEFAULT_TENANT || !tenants
}

/** Who is told of the calls of its routes. */
function listenersOf({ log, onCall, onSession, witness, tracer }: AssembleContext) {
  return { log, onCall, onSession, witness, tracer }
}

/** What a configuration of its tenant may read, connect to and take. */
function contextFor({ tenant }: Configuration, given: PrepareContext) {
  const own = tenant === DEFAULT_TENANT ? undefined : given.tenants?.find(({ name }) => name === tenant)
  return {
    ...given,
    env: envOfTenant(given.env, tenant, given.tenants),
    limits: { ...given.limits, ...own?.limits },
    guards: given.outbound?.guardsOf(tenant),
    /** Whether each message to a router is judged before it is sent on. */
    isJudged: ({ authorize, approval }: Router) =>
      (authorize ?? own?.authorize) !== undefined || approval !== 'none',
    readsFiles: readsFiles(tenant, given.tenants),
    /** Of which processes get what finds programs. */
    processEnv: given.env,
  }
}

type OwnContext = ReturnType<typeof contextFor> & { credentialsOf: CredentialsOf }

/** That of a server which is served already is kept, with what it knows of its upstream. */
function resilienceOf(
  { name, tenant, tools }: Configuration,
  server: Server,
  { kept, createResilience }: Omit<OwnContext, 'credentialsOf'>,
): Kept | undefined {
  const { retry, breaker, ...rest } = server
  const retries = retry ?? tools.find((tool) => tool.retry)
  if (!createResilience || !(retries || breaker)) return undefined
  const key = JSON.stringify([name, tenant, rest, breaker ?? null])
  const of = { tenant, server: server.name }
  return kept?.get(key) ?? { key, ...of, resilience: createResilience(of, breaker) }
}

/** Prefixes that differ by case only are the same. */
function claimsOf(name: string, routes: readonly Route[]): string[] {
  const paths = routes.flatMap(({ prefix, ssePrefix }) => [`${prefix}/mcp`, `${ssePrefix}/sse`])
  return [...new Set([`name ${name}`, ...paths.map((path) => path.toLowerCase())])]
}

/** Pages must be able to read where they get a token. */
function corsOf(cors: Cors, router: Router): Cors {
  return oauthOf(router)
    ? { ...cors, exposeHeaders: [...new Set([...cors.exposeHeaders, 'WWW-Authenticate'])] }
    : cors
}

/** What answers at a route. */
type Answering = Pick<Route, 'backend' | 'proxy' | 'tools' | 'lists' | 'maxRequestSize'>

function answeringTools(
  { server, tools, prompts }: { server: Server; tools: Tools; prompts: Prompts },
  configuration: Configuration,
  authenticated: boolean,
  { limits, version, createProxy }: PrepareContext,
): Answering {
  const listed = (list: readonly object[]) => stringify(visible(list as unknown as Json))
  const lists = { tools: listed(tools.list), prompts: listed(prompts.list) }
  const names = tools.list.map(({ name }) => name)
  // Which tool a message calls is known once it was read, so a prefix takes the largest request of its tools.
  const sizes = configuration.tools.flatMap(({ name, limits }) =>
    limits?.maxRequestSize !== undefined && names.includes(name) ? limits.maxRequestSize : [],
  )
  const maxRequestSize = Math.max(server.limits?.maxRequestSize ?? limits.maxRequestSize, ...sizes)
  const answering = { tools: names, lists, maxRequestSize }
  // What only looks at many configurations keeps nothing of them that can be called.
  if (!createProxy) return answering
  const backend = createToolsBackend({ server, tools, prompts, lists, authenticated, version })
  return { ...answering, backend }
}

/**
 * The proxy of a router that names MCP servers; undefined when it names none. One that is served with the same
 * definition is kept, with its sessions and processes. Nothing is started here.
 */
function answeringProxy(
  { configuration, file }: { configuration: Configuration; file: string },
  names: readonly string[],
  router: Router,
  context: OwnContext,
  report: (problems: readonly Problem[]) => void,
): Answering | undefined {
  const { mcpServers, tenant } = configuration
  const compiled = names.flatMap((name) => {
    const i = mcpServers.findIndex((server) => server.name === name)
    if (i < 0) return []
    const path = ['mcpServers', i]
    const server = mcpServers[i]!
    const credentials = context.credentialsOf(server)
    const { connection, problems: ofTls } = connectionOf(server, path, context.readsFiles)
    const { definition, problems } = compileDefinition(server, path, context.env, credentials, connection)
    const { pinned, problem } = context.pins.of(file, configuration, server)
    const pin = problem ? [{ ...problem, path: [...path, 'pin'] }] : []
    return [
      { definition: { ...definition, ...(pinned && { pinned }) }, problems: [...ofTls, ...problems, ...pin] },
    ]
  })
  if (!compiled.length) return undefined
  report(compiled.flatMap((each) => each.problems))
  const definitions = compiled.map(({ definition }) => definition)
  const servers = definitions.map(({ server }) => server)
  const { prefix } = router
  // Templates read the environment when they are compiled, so what `env` gives is part of it.
  const key = JSON.stringify([
    configuration.name,
    tenant,
    prefix,
    typeof router.server,
    context.isJudged(router),
    router.approval,
    servers,
    context.limits,
    context.pins.stamp(file, configuration),
    definitions.map(({ connection }) => connection?.tls?.key),
    definitions.map(({ varies, resolve }) => (varies ? '' : resolve({ headers: {}, query: () => ({}) }))),
  ])
  const served = context.proxies.get(key) ?? {
    key,
    servers: servers.map(({ name }) => name),
    proxy:
      context.createProxy?.(definitions, {
        ...context,
        env: context.processEnv,
        prefix,
        tenant,
        named: typeof router.server !== 'string',
        judged: context.isJudged(router),
      }) ?? NOBODY,
  }
  const { maxRequestSize = context.limits.maxRequestSize } =
    (servers.length === 1 && servers[0]!.limits) || {}
  const lists = { tools: '[]', prompts: '[]' }
  return { backend: served.proxy, proxy: served, tools: [], lists, maxRequestSize }
}

function nobody(): never {
  throw new Error('these configurations are only looked at')
}

/** Stands where nothing is served: loading what proxies takes longer than checking most configurations. */
const NOBODY: McpProxy = {
  open: nobody,
  resume: nobody,
  adopt: nobody,
  alone: nobody,
  status: nobody,
  breakers: nobody,
  start: async () => {},
  retire: async () => {},
  close: async () => {},
}

/**
 * Compiles and checks one configuration: what it would serve, and all that is wrong, each mistake reported once.
 */
export async function inspect(
  read: ReadConfiguration & { configuration: Configuration },
  context: PrepareContext,
): Promise<{ prepared: Prepared; findings: Finding[] }> {
  const { prepared, found } = prepare(read, context)
  await giveWayToCalls()
  const env = envOfTenant(context.env, read.configuration.tenant, context.tenants)
  const linted = lintTemplates(read, env, context.memo)
  const unset = [...read.findings, ...linted].filter(({ code }) => UNREAD.has(code))
  const errors = linted.filter(({ severity }) => severity === 'error')
  const own = found.filter((one) => !isReported(one, errors) && !overlaps(one.finding.range, unset))
  return { prepared, findings: [...own.map(({ finding }) => finding), ...linted] }
}

/** Of variables that are not there. */
const UNREAD = new Set<Finding['code']>(['env-unset', 'env-withheld'])

/** Whether the checks of templates report more exactly what compiling complains of. */
function isReported({ finding: { code, range }, ofTemplate }: Found, errors: readonly Finding[]): boolean {
  // They compile every template too, and leave out what is only an echo of another error.
  if (code === 'template-syntax' || code === 'template-context') return errors.length > 0
  return (ofTemplate || UNREAD.has(code)) && overlaps(range, errors)
}

/** Whether a finding stands where one of the others does, and so is their echo. */
function overlaps(range: Range | undefined, others: readonly Finding[]): boolean {
  return others.some(
    (one) =>
      range !== undefined &&
      one.range !== undefined &&
      one.range.start.offset < range.end.offset &&
      range.start.offset < one.range.end.offset,
  )
}
