import { bearerAuthentication } from '../access/bearer.ts'
import { createCors } from '../access/cors.ts'
import { lintTemplates } from '../checks/templates/index.ts'
import {
  type Configuration,
  type Limits,
  type ReadConfiguration,
  type Router,
  routerTokens,
  serverNames,
  type TenantSettings,
} from '../config/index.ts'
import { type Finding, type Range, toFinding } from '../findings/index.ts'
import { stringify } from '../json/index.ts'
import type { HttpClient } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { CallRecord } from '../telemetry/metrics.ts'
import type { Memo } from '../template/index.ts'
import { createToolsBackend } from '../tools/backend.ts'
import { compilePrompts, compileTools, type Problem } from '../tools/index.ts'
import type { createProxy } from '../upstream/index.ts'
import { proxyOf } from './proxies.ts'
import type { Prepared, Route, Served } from './types.ts'

export interface PrepareContext {
  env: Readonly<Record<string, string | undefined>>
  limits: Limits
  http: HttpClient
  log: Logger
  version: string
  /** Templates that the same run has compiled. */
  memo?: Memo
  /** Is called after every call. */
  onCall?: (call: CallRecord) => void
  /** Whose credentials open their routers. */
  tenants?: readonly TenantSettings[]
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
  context: PrepareContext,
): { prepared: Prepared; found: Found[] } {
  const { configuration, file, text } = read
  const found = new Map<string, Found>()
  const report = (problems: readonly Problem[]) => {
    for (const problem of problems) {
      const made = toFinding(problem, read)
      // Tools that several servers share are compiled for each, and complain once.
      const key = JSON.stringify([made.code, made.range?.start.offset, made.message])
      found.set(key, { finding: made, ofTemplate: problem.ofTemplate ?? false })
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
      return [
        makeRoute(configuration, router, limits, context, {
          backend: served.proxy,
          proxy: served,
          tools: [],
          lists,
        }),
      ]
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
    const backend = createToolsBackend({
      server,
      tools,
      prompts,
      lists,
      authenticated: tokensOf(configuration, router, context) !== undefined,
      version: context.version,
    })
    const served = { backend, tools: toolNames, lists }
    return [makeRoute(configuration, router, limits, context, served)]
  })
  const { name, tenant, notifier } = configuration
  const since = new Date().toISOString()
  const prepared = { name, tenant, file, text, since, routes, ...(notifier && { notifier }) }
  return { prepared, found: [...found.values()] }
}

/** Who may use a router: those that it names, and its tenant's; undefined: everyone. */
function tokensOf({ tenant }: Configuration, router: Router, { tenants = [] }: PrepareContext) {
  const own = routerTokens(router)
  const shared = tenants.find(({ name }) => name === tenant)?.tokens ?? []
  return own || shared.length ? [...(own ?? []), ...shared] : undefined
}

/** Which tool a message calls is known once it was read, so a prefix takes the largest request of its tools. */
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
  served: Pick<Route, 'backend' | 'proxy' | 'tools' | 'lists'>,
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
    account: { tenant, prefix: router.prefix, log: context.log, onCall: context.onCall },
    ...(router.cors && { cors: createCors(router.cors) }),
    ...(tokens && { authenticate: bearerAuthentication(tokens) }),
    maxRequestSize: own?.maxRequestSize ?? context.limits.maxRequestSize,
  }
}

/**
 * Compiles and checks one configuration: what it would serve, and all that is wrong, each mistake reported once.
 * @param turn lets calls have their turn in between
 */
export async function inspect(
  read: ReadConfiguration & { configuration: Configuration },
  context: PrepareContext,
  turn: () => Promise<void> | undefined,
): Promise<{ prepared: Prepared; findings: Finding[] }> {
  const { prepared, found } = prepare(read, context)
  await turn()
  const linted = lintTemplates(read, context.env, context.memo)
  const unset = [...read.findings, ...linted].filter(({ code }) => code === 'env-unset')
  const errors = linted.filter(({ severity }) => severity === 'error')
  const own = found.filter((one) => !isReported(one, errors) && !overlaps(one.finding.range, unset))
  return { prepared, findings: [...own.map(({ finding }) => finding), ...linted] }
}

/** Whether the checks of templates report more exactly what compiling complains of. */
function isReported({ finding: { code, range }, ofTemplate }: Found, errors: readonly Finding[]): boolean {
  // They compile every template too, and leave out what is only an echo of another error.
  if (code === 'template-syntax' || code === 'template-context') return errors.length > 0
  return (ofTemplate || code === 'env-unset') && overlaps(range, errors)
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
