import { createSeal } from '../cluster/index.ts'
import {
  type Configuration,
  type McpServer,
  offers,
  qualifiedName,
  type Router,
  type Server,
} from '../config/index.ts'
import type { Json } from '../json/index.ts'
import { visibleText } from '../mcp/visible.ts'
import { lazy } from '../text/index.ts'
import { createToolsBackend, type ToolsBackend } from '../tools/backend.ts'
import type { Prompts, Tools } from '../tools/index.ts'
import { listedSkills, promptOf } from '../tools/skill-methods.ts'
import type { Skills } from '../tools/skills/index.ts'
import { RESULT_TOOL } from '../tools/tasks.ts'
import { type Definition, type McpProxy, mergeInstructions, type Together } from '../upstream/index.ts'
import { combine, selectionOf } from './combined.ts'
import type { PlaceContext } from './prepare-context.ts'
import type { Chosen, LinkContext, RouteBackend, ServedProxy } from './types.ts'

/** A router, and what its configuration gives to what answers there. */
export interface Place {
  router: Router
  /** Names of the configuration and its tenant. */
  configuration: string
  tenant: string
  /** Whether callers are told apart. */
  authenticated: boolean
  context: PlaceContext
}

/** The backend for one server. */
export function backendOfOne(chosen: Chosen, place: Place, context: LinkContext): RouteBackend {
  const { http, definition, name, maxRequestSize } = chosen.server
  const bounds = { maxRequestSize, keepsResults: keepsResults([chosen]) }
  if (definition) return proxyBackend([definition], undefined, bounds, place, context)
  return toolsBackend({ name, ...http! }, bounds, place, context)
}

type Bounds = Pick<RouteBackend, 'maxRequestSize' | 'keepsResults'>

/** One backend for several servers: HTTP tools if all are, else a proxy with the HTTP tools beside it. */
export function backendOfMany(chosen: readonly Chosen[], place: Place, context: LinkContext): RouteBackend {
  const { router } = place
  const { limits } = place.context
  const sizes = chosen.map(({ server }) => server.maxRequestSize)
  const maxRequestSize = sizes.length ? Math.max(...sizes) : limits.maxRequestSize
  const bounds = { maxRequestSize, keepsResults: keepsResults(chosen) }
  const isHttp = ({ server }: Chosen) => server.http !== undefined
  const told = chosen.filter(isHttp).map(({ server: { name, http } }) => ({ name, text: http?.description }))
  const combined = {
    name: router.prefix.replace(/^\//, '') || 'plantgw',
    description: mergeInstructions(told),
    ...combine(chosen, router.names),
    skills: allSkills(chosen),
  }
  const proxied = chosen.filter(({ server }) => server.definition)
  const tools = toolsBackend(combined, bounds, place, context)
  if (!proxied.length) return tools
  const local = chosen.some(isHttp) ? tools.backend : undefined
  const together = { names: router.names, selections: proxied.map(selectionOf), local }
  const definitions = proxied.flatMap(({ server }) => server.definition ?? [])
  const { tools: names, lists, httpTool } = tools
  return {
    ...proxyBackend(definitions, together, bounds, place, context),
    tools: names,
    lists,
    ...(httpTool && { httpTool }),
    local,
  }
}

/** Each skill once: of two with the same address the first counts. */
function allSkills(chosen: readonly Chosen[]): Skills {
  const skills = chosen.flatMap(({ server }) => server.http?.skills ?? [])
  return [...new Map(skills.toReversed().map((skill) => [skill.uri, skill])).values()].toReversed()
}

interface HttpTools {
  name: string
  description: string | undefined
  tools: Tools
  prompts: Prompts
  skills: Skills
}

/** JSON of a list as clients see it. */
function listed(list: readonly object[]): string {
  return visibleText(list as unknown as Json)
}

/** Made once: the text of many tools is long. */
function listedTools(tools: Tools): string {
  tools.listed ??= listed(tools.list())
  return tools.listed
}

function toolsBackend(
  { name, description, tools, prompts, skills }: HttpTools,
  bounds: Bounds,
  { authenticated, configuration, tenant, context: { version, sealSecrets } }: Place,
  { createProxy }: LinkContext,
): Omit<RouteBackend, 'backend'> & { backend?: ToolsBackend } {
  const isSlow = tools.slow.length > 0
  const whole = isSlow ? lazy(() => listed([...tools.list(), RESULT_TOOL])) : () => listedTools(tools)
  // Before anyone waits for it.
  if (createProxy) whole()
  const lists = {
    get tools() {
      return whole()
    },
    prompts: listed([...prompts.list, ...skills.map(promptOf)]),
    ...(skills.length > 0 && { skills: listedSkills(skills) }),
  }
  const names = isSlow ? [...tools.names, RESULT_TOOL.name] : tools.names
  const described = { tools: names, lists, ...bounds }
  // Checking many configurations keeps nothing callable in memory.
  if (!createProxy) return described
  const server = { name, ...(description !== undefined && { description }) }
  const seal = isSlow && sealSecrets ? createSeal({ secrets: sealSecrets }, 'task id') : undefined
  const owner = qualifiedName({ tenant, name: configuration }, name)
  const { keepsResults } = bounds
  const parts = { server, tools, prompts, skills, lists, authenticated, version, seal, owner, keepsResults }
  const backend = createToolsBackend(parts)
  return { ...described, httpTool: (name) => tools.get(name), backend }
}

/**
 * The proxy of MCP servers. One that is served with the same definitions is kept, with its sessions and processes.
 * Nothing is started here.
 */
function proxyBackend(
  definitions: readonly Definition[],
  together: Together | undefined,
  bounds: Bounds,
  { router, configuration, tenant, context }: Place,
  { createProxy, proxies }: LinkContext,
): RouteBackend {
  const { prefix } = router
  const key = JSON.stringify([
    configuration,
    tenant,
    prefix,
    together && [together.names, together.selections.map((selection) => selection ?? null)],
    router.approval,
    context.limits,
    definitions.map(({ id }) => id),
  ])
  const served: ServedProxy = proxies.get(key) ?? {
    key,
    servers: definitions.map(({ server }) => server.name),
    proxy:
      createProxy?.(definitions, {
        ...context,
        env: context.processEnv,
        prefix,
        tenant,
        together,
      }) ?? CHECK_ONLY_PROXY,
  }
  const lists = { tools: '[]', prompts: '[]' }
  return { backend: served.proxy, proxy: served, tools: [], lists, ...bounds }
}

function unreachable(): never {
  throw new Error('these configurations are only checked')
}

/** Used while checking only: loading the proxy code takes longer than most checks. */
const CHECK_ONLY_PROXY: McpProxy = {
  open: unreachable,
  resume: unreachable,
  migrate: unreachable,
  stateless: unreachable,
  status: unreachable,
  children: unreachable,
  declared: unreachable,
  serve: unreachable,
  breakers: unreachable,
  start: async () => {},
  retire: async () => {},
  close: async () => {},
}

/** Whether a tool behind a router keeps what is cut off its results. */
function keepsResults(chosen: readonly Chosen[]): boolean {
  return chosen.some(({ server, member }) => server.keepsResults || overridesKeep(member))
}

/** Whether a server of HTTP tools has such a tool. */
export function toolsKeep({ tools }: Configuration, server: Server): boolean {
  return tools.some(({ name, response }) => response?.more && offers(server, name))
}

export function overridesKeep({ toolOverrides }: Pick<McpServer, 'toolOverrides'>): boolean {
  return Object.values(toolOverrides).some(({ response }) => response?.more)
}
