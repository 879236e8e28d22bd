import { bearerTable } from '../access/bearer.ts'
import { createCors } from '../access/cors.ts'
import {
  type Configuration,
  type Limits,
  type ReadConfiguration,
  type Router,
  serverNames,
} from '../config/index.ts'
import { type Finding, finding } from '../findings/index.ts'
import { stringify } from '../json/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { compilePrompts, compileTools, type Pools, type Problem } from '../tools/index.ts'
import { proxyOf } from './proxies.ts'
import { createService } from './service.ts'
import type { Route, Served } from './table.ts'

/** A configuration that is ready to serve. */
export interface Prepared {
  name: string
  file: string
  /** The text it was made from: the same text is the same configuration. */
  text: string
  routes: Route[]
}

export interface PrepareContext {
  env: Readonly<Record<string, string | undefined>>
  limits: Limits
  pools: Pools
  log: Logger
  version: string
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
      return [makeRoute(configuration, router, limits, context.limits, { proxy: served, tools: [], lists })]
    }
    const found = compiled.get(names[0] as string)
    if (!found) return []
    const { server, tools } = found
    const lists = { tools: stringify(tools.list), prompts: stringify(prompts.list) }
    const service = createService({
      configuration,
      server,
      prefix: router.prefix,
      tools,
      prompts,
      lists,
      log: context.log,
      authenticated: isAuthenticated(router),
      version: context.version,
    })
    const toolNames = tools.list.map(({ name }) => name)
    const served = { service, tools: toolNames, lists }
    return [makeRoute(configuration, router, server.limits, context.limits, served)]
  })
  return { prepared: { name: configuration.name, file, text, routes }, findings: [...findings.values()] }
}

function isAuthenticated({ auth }: Router): boolean {
  return auth !== undefined && auth.mode !== 'none'
}

function makeRoute(
  { name: configuration, tenant }: Configuration,
  router: Router,
  own: Partial<Limits> | undefined,
  limits: Limits,
  served: Pick<Route, 'service' | 'proxy' | 'tools' | 'lists'>,
): Route {
  const prefix = router.prefix === '/' ? '' : router.prefix
  return {
    ...served,
    prefix,
    ssePrefix: router.ssePrefix ?? prefix,
    configuration,
    tenant,
    ...(router.cors && { cors: createCors(router.cors) }),
    ...(isAuthenticated(router) && { authenticate: bearerTable(router.auth?.tokens ?? []) }),
    maxRequestSize: own?.maxRequestSize ?? limits.maxRequestSize,
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
