import { createCors } from '../access/cors.ts'
import { lintSteps } from '../checks/templates/index.ts'
import {
  type Configuration,
  type Cors,
  DEFAULT_TENANT,
  endpointPath,
  type Member,
  oauthOf,
  qualifiedName,
  type ReadConfiguration,
  type Redact,
  type Router,
  type Server,
  uniqueName,
} from '../config/index.ts'
import { environmentStamp, type UsedVariable, variablesUsed } from '../config/secret-files.ts'
import { envOfTenant } from '../config/tenant-env.ts'
import { type Finding, finding, type Range, toFinding } from '../findings/index.ts'
import { pipelineOf } from '../mcp/index.ts'
import { inParts } from '../telemetry/loop-delay.ts'
import { metered } from '../template/index.ts'
import { inTurns, lazy, type Steps } from '../text/index.ts'
import { connectionOf, connectionStamp } from '../tools/connection.ts'
import { compilePrompts, compileToolsSteps, type Problem, type Tools } from '../tools/index.ts'
import type { Skills } from '../tools/skills/index.ts'
import { compileDefinition } from '../upstream/definition.ts'
import {
  type AssembleContext,
  contextFor,
  type OwnContext,
  type PlaceContext,
  type PrepareContext,
  readsFiles,
} from './prepare-context.ts'
import { routeAuth } from './route-auth.ts'
import { backendOfMany, backendOfOne, overridesKeep, type Place, toolsKeep } from './route-backend.ts'
import { discoveryOf, wordsOf } from './route-discovery.ts'
import { cardDocument, serverCard } from './server-card.ts'
import { skillsOf, skillsStampOf } from './skills-folder.ts'
import type {
  Chosen,
  KeptResilience,
  LinkContext,
  Listing,
  Prepared,
  PreparedServer,
  Route,
  RouteBackend,
} from './types.ts'

interface Found {
  finding: Finding
  ofTemplate: boolean
}

/** Compiles a configuration. Never throws; errors are returned as findings. */
function* prepare(
  read: ReadConfiguration & { configuration: Configuration },
  skills: Skills,
  stamp: string,
  given: PrepareContext,
): Steps<{ prepared: Prepared; found: Found[] }> {
  const { file, text } = read
  const { context, lasting } = contextFor(read.configuration, given)
  const configuration = redacting(read.configuration, context.redact)
  const found = new Map<string, Found>()
  const report = (problems: readonly Problem[]) => {
    for (const problem of problems) {
      const made = toFinding(problem, read)
      // Tools shared by several servers are compiled for each, but reported once.
      const key = JSON.stringify([made.code, made.range?.start.offset, made.message])
      found.set(key, { finding: made, ofTemplate: problem.ofTemplate ?? false })
    }
  }
  const resiliences = new Map<string, KeptResilience>()
  const input = { configuration, variables: lazy(() => variablesUsed(text, context.env)) }
  const servers = new Map<string, PreparedServer>([
    ...(yield* httpServers(input, skills, context, lasting, resiliences, report)),
    ...mcpServers({ ...input, file }, context, report),
  ])
  const { name, tenant, notifier } = configuration
  const routes: Route[] = []
  const listings: Listing[] = []
  for (const router of configuration.routers) {
    const { authenticate, ...auth } = routeAuth(configuration, router, context)
    const presented = presentedAs(router, auth, context)
    const place: Place = {
      router,
      configuration: name,
      tenant,
      authenticated: authenticate !== undefined,
      context: lasting,
    }
    const route = (backend: RouteBackend, chosen: readonly Chosen[]): Route => {
      const rest = { ...policyOf(router, place, chosen), ...(authenticate && { authenticate }), ...auth }
      const made = { ...backend, ...rest, ...presented }
      return { ...made, pipeline: pipelineFor(made) }
    }
    if (typeof router.server !== 'string') {
      const make: Listing['make'] = (chosen, linking) => route(backendOfMany(chosen, place, linking), chosen)
      listings.push({ router, make })
      continue
    }
    const server = servers.get(router.server)
    if (server) {
      const alone = { server, member: WHOLE }
      routes.push(route(backendOfOne(alone, place, context), [alone]))
    }
  }
  const credentials = [...configuration.servers, ...configuration.mcpServers].flatMap(
    (server) => context.credentialsOf(server, configuration) ?? [],
  )
  const logins = credentials.flatMap(({ login }) => login ?? [])
  const callerLogins = credentials.flatMap(({ callerLogins }) => callerLogins ?? [])
  const claims = claimsOf(uniqueName(configuration, context.tenants), configuration.routers)
  const prepared = {
    id: qualifiedName(configuration),
    name,
    tenant,
    file,
    text,
    ...(stamp && { stamp }),
    since: new Date().toISOString(),
    routes,
    servers,
    ...(listings.length > 0 && { listings: { all: listings, own: routes, made: undefined } }),
    claims,
    ...(logins.length > 0 && { logins }),
    ...(callerLogins.length > 0 && { callerLogins }),
    ...(resiliences.size > 0 && { resiliences }),
    ...(notifier && { notifier, guard: context.guards?.named }),
  }
  return { prepared, found: [...found.values()] }
}

/**
 * Hash of the inputs other than the text: pins of MCP servers, certificates, skills, variables and secret files;
 * empty if there are none.
 */
export function stampOf(
  file: string,
  configuration: Configuration,
  text: string,
  { env, pins, tenants }: Pick<PrepareContext, 'env' | 'pins' | 'tenants'>,
): string {
  const { servers, mcpServers, tenant } = configuration
  const mayRead = readsFiles(tenant, tenants)
  const certificates = connectionStamp([...servers, ...mcpServers], mayRead)
  const skills = skillsStampOf(file, configuration, mayRead)
  const variables = environmentStamp(text, env)
  return [pins.stamp(file, configuration), certificates, skills, variables].filter(Boolean).join('\n')
}

/** The configuration with `redact` set on each server. */
function redacting(configuration: Configuration, redact: Redact = 'own'): Configuration {
  // `own` is the default of a server.
  if (redact === 'own') return configuration
  const filled = <Of extends { redact?: Redact }>(servers: readonly Of[]) =>
    servers.map((server) => ({ redact, ...server }))
  const { servers, mcpServers } = configuration
  return { ...configuration, servers: filled(servers), mcpServers: filled(mcpServers) }
}

/** Receivers of the records of its calls. */
function listenersOf(context: Omit<AssembleContext, keyof LinkContext>) {
  const { log, onCall, onSession, onUnanswered, auditSink, tracer, recorder } = context
  return { log, onCall, onSession, onUnanswered, auditSink, tracer, recorder }
}

/** The resilience of the upstream: kept, with its state, if the upstream is already served. */
function resilienceOf(
  configuration: Configuration,
  server: Server,
  { kept, createResilience }: OwnContext,
): KeptResilience | undefined {
  const { name, tenant } = configuration
  const { retry, breaker, ...rest } = server
  const retries = retry ?? configuration.tools.some((tool) => tool.retry)
  if (!createResilience || !(retries || breaker)) return undefined
  const key = JSON.stringify([name, tenant, rest, breaker ?? null])
  const of = { tenant, server: server.name }
  return kept?.get(key) ?? { key, ...of, resilience: createResilience(of, breaker) }
}

function pipelineFor(route: Omit<Route, 'pipeline'>): Route['pipeline'] {
  return pipelineOf({
    keepsResults: route.keepsResults,
    discovers: route.discovery !== undefined,
    authorizes: route.authorize !== undefined,
    approves: route.approval !== undefined,
    logsIn: route.logsIn,
    logins: route.logins,
  })
}

/** Its server card and public documents. */
function presentedAs(
  router: Router,
  { access, documents }: Pick<Route, 'access' | 'documents'>,
  { publicUrl }: PrepareContext,
): Pick<Route, 'card' | 'documents'> {
  const card = publicUrl === undefined ? undefined : serverCard(router, access, publicUrl)
  if (!card) return {}
  const path = `${pathOf(router.prefix)}/mcp/server-card`
  return { card, documents: new Map([...(documents ?? []), [path, cardDocument(card)]]) }
}

/** Path before `/mcp`. */
function pathOf(prefix: string): string {
  return prefix === '/' ? '' : prefix
}

/** Policy of a route, independent of its backend. */
function policyOf(
  router: Router,
  { configuration, tenant, context }: Place,
  chosen: readonly Chosen[],
): Omit<Route, keyof RouteBackend | 'access' | 'pipeline'> {
  const prefix = pathOf(router.prefix)
  const { ssePrefix = router.prefix } = router
  const isBelow = context.publicUrl !== undefined && new URL(context.publicUrl).pathname !== '/'
  const rate = context.rates?.of({ prefix: router.prefix, tenant, rate: router.rate })
  return {
    prefix,
    ssePrefix: pathOf(ssePrefix),
    ...(isBelow && { tellsRelative: true as const }),
    configuration,
    tenant,
    callLog: { tenant, prefix: router.prefix, ...listenersOf(context) },
    ...(router.cors && { cors: createCors(corsOf(router.cors, router)) }),
    ...(rate && { rate }),
    discovery: discoveryOf(router, chosen),
    logsIn: chosen.some(({ server }) => server.logsIn),
    logins: chosen.flatMap(({ server }) => server.logins ?? []),
    ...(router.approval === 'elicitation' && {
      approval: { server: chosen.map(({ server }) => server.name).join(', ') },
    }),
  }
}

/** The entry of a router with one server. */
const WHOLE: Member = { server: '', blockedTools: [], toolOverrides: {} }

type Compiled = [name: string, server: PreparedServer][]
interface ServersInput {
  configuration: Configuration
  /** Environment variables that its text uses. */
  variables: () => readonly UsedVariable[]
}
type ReportProblems = (problems: readonly Problem[]) => void

/** The servers of HTTP tools. @param resiliences filled with the state of their upstreams */
function* httpServers(
  { configuration, variables }: ServersInput,
  skills: Skills,
  context: OwnContext,
  lasting: PlaceContext,
  resiliences: Map<string, KeptResilience>,
  report: ReportProblems,
): Steps<Compiled> {
  const { prompts, problems } = compilePrompts(configuration, context)
  report(problems)
  const compiled: Compiled = []
  for (const [i, server] of configuration.servers.entries()) {
    const kept = resilienceOf(configuration, server, context)
    if (kept) resiliences.set(kept.key, kept)
    const { connection, problems: ofTls } = connectionOf(server, ['servers', i], context.readsFiles)
    report(ofTls)
    const onRedacted = context.redactionsOf(server.name)
    const own = { ...lasting, connection, resilience: kept?.resilience, onRedacted, variables }
    const memo = context.memo && { memo: context.memo }
    const { tools, problems } = yield* compileToolsSteps(configuration, server, { ...own, ...memo })
    report(problems)
    const { name, description } = server
    const http = { description, prompts, skills, tools }
    compiled.push([
      name,
      {
        name,
        http,
        words: wordsOf(name, configuration),
        logsIn: server.credentials?.for === 'caller',
        maxRequestSize: largestRequest(configuration, server, tools, context),
        keepsResults: toolsKeep(configuration, server),
      },
    ])
  }
  return compiled
}

/** The tool is known only after the message is read, so a prefix accepts the largest request of its tools. */
function largestRequest(
  { tools }: Configuration,
  { limits: own }: Server,
  { names }: Tools,
  { limits }: OwnContext,
): number {
  const sound = new Set(names)
  const sizes = tools.flatMap(({ name, limits }) =>
    limits?.maxRequestSize !== undefined && sound.has(name) ? limits.maxRequestSize : [],
  )
  return Math.max(own?.maxRequestSize ?? limits.maxRequestSize, ...sizes)
}

function mcpServers(
  { configuration, file, variables }: ServersInput & { file: string },
  context: OwnContext,
  report: ReportProblems,
): Compiled {
  const { name: owner, tenant } = configuration
  return configuration.mcpServers.map((server, i) => {
    const path = ['mcpServers', i]
    const { connection, problems: ofTls } = connectionOf(server, path, context.readsFiles)
    const credentials = context.credentialsOf(server, configuration)
    const { definition, problems } = compileDefinition(
      server,
      path,
      context.env,
      credentials,
      connection,
      variables(),
    )
    const { pinned, problem } = context.pins.of(file, configuration, server)
    report([...ofTls, ...problems, ...(problem ? [{ ...problem, path: [...path, 'pin'] }] : [])])
    const { varies, resolve } = definition
    // Templates read the environment when compiled, so the values of `env` are part of the key.
    const fixed = varies ? null : resolve({ headers: {}, query: () => ({}) })
    const pins = context.pins.stamp(file, configuration)
    const id = JSON.stringify([owner, tenant, server, context.limits, pins, connection?.tls?.key, fixed])
    const { name, limits } = server
    return [
      name,
      {
        name,
        definition: { ...definition, id, ...(pinned && { pinned }) },
        logsIn: server.credentials?.for === 'caller',
        ...(credentials?.ofCallers && { logins: { server: name, ...credentials.ofCallers } }),
        maxRequestSize: limits?.maxRequestSize ?? context.limits.maxRequestSize,
        resultChars: limits?.resultChars,
        keepsResults: overridesKeep(server),
        words: wordsOf(name, configuration),
      },
    ]
  })
}

/** Claims of a configuration; prefixes that differ only in case are the same. */
function claimsOf(name: string, routers: readonly Router[]): string[] {
  const paths = routers.flatMap(({ prefix, ssePrefix = prefix }) => [
    endpointPath(prefix, 'mcp'),
    endpointPath(ssePrefix, 'sse'),
  ])
  return [...new Set([`name ${name}`, ...paths.map((path) => path.toLowerCase())])]
}

/** CORS with the headers with which pages find the authorization server. */
function corsOf(cors: Cors, router: Router): Cors {
  return oauthOf(router)
    ? { ...cors, exposeHeaders: [...new Set([...cors.exposeHeaders, 'WWW-Authenticate'])] }
    : cors
}

/**
 * Compiles and checks one configuration; each mistake is reported once.
 */
export async function inspect(
  read: ReadConfiguration & { configuration: Configuration },
  context: PrepareContext,
): Promise<{ prepared: Prepared; findings: Finding[] }> {
  const { configuration, file, text } = read
  // Before files are read, so that a change while reading counts as one.
  const stamp = stampOf(file, configuration, text, context)
  const mayRead = readsFiles(configuration.tenant, context.tenants)
  const { skills, findings: ofSkills } = await skillsOf(read, mayRead)
  const of = configuration.routers[0]?.prefix ?? file
  const allowance = { left: isTenants(configuration, context) ? RENDERED_STEPS : Number.POSITIVE_INFINITY }
  const { prepared, found } = await inTurns(
    inParts('compile a configuration', of, metered(allowance, prepare(read, skills, stamp, context))),
  )
  const env = envOfTenant(context.env, configuration.tenant, context.tenants)
  const lint = metered(allowance, lintSteps(read, env, context.memo))
  const linted = allowance.left < 0 ? [] : await inTurns(inParts('check templates', of, lint))
  if (allowance.left < 0) {
    // Incomplete results must not be reused for the same text in another file.
    context.memo?.clear()
    return { prepared, findings: [...ofSkills, tooMuchRendered(file)] }
  }
  const unset = [...read.findings, ...linted].filter(({ code }) => UNREAD.has(code))
  const errors = linted.filter(({ severity }) => severity === 'error')
  const own = found.filter((one) => !isReported(one, errors) && !overlaps(one.finding.range, unset))
  return { prepared, findings: [...own.map(({ finding }) => finding), ...ofSkills, ...linted] }
}

/** Step limit for all templates of a tenant's file that are rendered before calls, also with sample arguments. */
const RENDERED_STEPS = 100_000

function isTenants({ tenant }: Configuration, { tenants }: PrepareContext): boolean {
  return tenants !== undefined && tenant !== DEFAULT_TENANT
}

function tooMuchRendered(file: string): Finding {
  return finding('tenant-templates', file, 'the templates of this file take too much work', {
    hint: 'Shorten loops and repeated texts of templates, above all of those that are the same for every call',
  })
}

/** Codes for missing variables. */
const UNREAD = new Set<Finding['code']>(['env-unset', 'env-withheld'])

function isReported({ finding: { code, range }, ofTemplate }: Found, errors: readonly Finding[]): boolean {
  // The checks compile every template too, and leave out errors that follow from another.
  if (code === 'template-syntax' || code === 'template-context') return errors.length > 0
  const ofUrl = code === 'invalid-value' ? errors.filter((one) => one.code === 'url-text') : []
  return overlaps(range, ofTemplate || UNREAD.has(code) ? errors : ofUrl)
}

/** Whether a finding overlaps another one, so that it only repeats it. */
function overlaps(range: Range | undefined, others: readonly Finding[]): boolean {
  return others.some(
    (one) =>
      range !== undefined &&
      one.range !== undefined &&
      one.range.start.offset < range.end.offset &&
      range.start.offset < one.range.end.offset,
  )
}
