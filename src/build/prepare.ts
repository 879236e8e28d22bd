import { bearerAuthentication } from '../access/bearer.ts'
import { createCors } from '../access/cors.ts'
import {
  type Configuration,
  type Limits,
  type Notifier,
  type ReadConfiguration,
  type Router,
  serverNames,
  type TenantSettings,
} from '../config/index.ts'
import { type Finding, finding } from '../findings/index.ts'
import { stringify } from '../json/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { CallRecord } from '../telemetry/metrics.ts'
import type { Memo } from '../template/index.ts'
import { compilePrompts, compileTools, type Pools, type Problem } from '../tools/index.ts'
import type { createProxy } from '../upstream/index.ts'
import { proxyOf } from './proxies.ts'
import { createService } from './service.ts'
import type { Route, Served } from './table.ts'

/** A configuration that is ready to serve. */
export interface Prepared {
  name: string
  tenant: string
  file: string
  /** The text it was made from: the same text is the same configuration. */
  text: string
  /** When it was made: ISO 8601, UTC. */
  since: string
  routes: Route[]
  /** How its changes are told. */
  notifier?: Notifier
}

export interface PrepareContext {
  env: Readonly<Record<string, string | undefined>>
  limits: Limits
  pools: Pools
  log: Logger
  version: string
  /** Templates that the same run has compiled. */
  memo?: Memo
  /** Hears of every call that is over. */
  onCall?: (call: CallRecord) => void
  /** Whose credentials open their routers. */
  tenants?: readonly TenantSettings[]
  /** Makes what proxies MCP servers; absent where configurations are only looked at. */
  createProxy?: typeof createProxy
  /** Proxies that are served now, by key, to be served on. */
  proxies: ReadonlyMap<string, Served>
}

/** Compiles all that one configuration serves. Never throws: what is wrong comes back as findings. */
export function prepare(
  read: ReadConfiguration & { configuration: Configuration },
  context: PrepareContext,
): { prepared: Prepared; findings: Finding[] } {
  const { configuration, file, text } = read
  const findings = new Map<string, Finding>()
  const report = (problems: readonly Problem[]) => {
    for (const problem of problems) {
      const made = toFinding(problem, read)
      // Tools that several servers share are compiled for each, and complain once.
      findings.set(JSON.stringify([made.code, made.range?.start.offset, made.message]), made)
    }
  }
  const { prompts, problems } = compilePrompts(configuration, context)
  report(problems)
  const compiled = new Map(
    configuration.servers.map((server) => {
      const { tools, problems } = compileTools(configuration, server, context)
      report(problems)
      return [server.name, { server, tools }] as const
    }),
  )
  const routes = configuration.routers.flatMap((router): Route[] => {
    const names = serverNames(router)
    const proxied = proxyOf(configuration, names, router, context)
    if (proxied) {
      report(proxied.problems)
      const { served, limits } = proxied
      const lists = { tools: '[]', prompts: '[]' }
      return [makeRoute(configuration, router, limits, context, { proxy: served, tools: [], lists })]
    }
    const found = compiled.get(names[0] as string)
    if (!found) return []
    const { server, tools } = found
    const lists = { tools: stringify(tools.list), prompts: stringify(prompts.list) }
    const toolNames = tools.list.map(({ name }) => name)
    const limits = withTools(server.limits, configuration, toolNames, context)
    // What only looks at many configurations keeps nothing of them that can be called.
    if (!context.createProxy)
      return [makeRoute(configuration, router, limits, context, { tools: toolNames, lists })]
    const service = createService({
      configuration,
      server,
      prefix: router.prefix,
      tools,
      prompts,
      lists,
      log: context.log,
      ...(context.onCall && { onCall: context.onCall }),
      authenticated: tokensOf(configuration, router, context) !== undefined,
      version: context.version,
    })
    const served = { service, tools: toolNames, lists }
    return [makeRoute(configuration, router, limits, context, served)]
  })
  const { name, tenant, notifier } = configuration
  const since = new Date().toISOString()
  const prepared = { name, tenant, file, text, since, routes, ...(notifier && { notifier }) }
  return { prepared, findings: [...findings.values()] }
}

/** Who may use a router: those that it names, and its tenant's; undefined: everyone. */
function tokensOf({ tenant }: Configuration, { auth }: Router, { tenants = [] }: PrepareContext) {
  const own = auth?.mode === 'bearer' ? auth.tokens : undefined
  const shared = tenants.find(({ name }) => name === tenant)?.tokens ?? []
  return own || shared.length ? [...(own ?? []), ...shared] : undefined
}

/** Which tool a message calls is known when it was read: a prefix takes what the most generous of its tools takes. */
function withTools(
  own: Partial<Limits> | undefined,
  { tools }: Configuration,
  served: readonly string[],
  { limits }: PrepareContext,
): Partial<Limits> {
  const sizes = tools.flatMap(({ name, limits }) =>
    limits?.maxRequestSize !== undefined && served.includes(name) ? limits.maxRequestSize : [],
  )
  return { ...own, maxRequestSize: Math.max(own?.maxRequestSize ?? limits.maxRequestSize, ...sizes) }
}

function makeRoute(
  configuration: Configuration,
  router: Router,
  own: Partial<Limits> | undefined,
  context: PrepareContext,
  served: Pick<Route, 'service' | 'proxy' | 'tools' | 'lists'>,
): Route {
  const { name, tenant } = configuration
  const tokens = tokensOf(configuration, router, context)
  const prefix = router.prefix === '/' ? '' : router.prefix
  return {
    ...served,
    prefix,
    ssePrefix: router.ssePrefix ?? prefix,
    configuration: name,
    tenant,
    ...(router.cors && { cors: createCors(router.cors) }),
    ...(tokens && { authenticate: bearerAuthentication(tokens) }),
    maxRequestSize: own?.maxRequestSize ?? context.limits.maxRequestSize,
  }
}

/** A finding at its place in the file. */
export function toFinding(
  { code, severity, message, hint, path, start, end }: Problem,
  read: ReadConfiguration,
): Finding {
  const range = read.locate(path, start, end)
  return finding(code, read.file, message, { severity, ...(range && { range }), ...(hint && { hint }) })
}
