import type { Context } from 'hono'
import type { AdminPrincipal } from '../../access/admin.ts'
import { HttpResponse } from '../../access/http-response.ts'
import type { Route } from '../../build/types.ts'
import { declared, indexSteps } from '../../discovery/index.ts'
import { CLIENT_NAMES } from '../../import/clients/index.ts'
import { isObject, type JsonObject, parseVerbatim, stringify } from '../../json/index.ts'
import type { RecordedCall } from '../../mcp/index.ts'
import { inTurns, tokensIn } from '../../text/index.ts'
import { CONSOLE_FILES, consoleFile } from '../console-files.ts'
import { COOKIE, type ConsoleLogins } from './access.ts'
import { BudgetPage, type PrefixBudget } from './budget.tsx'
import { call, complete, render } from './call.ts'
import { countsOf, lastCalls, type PrefixCalls } from './call-counts.ts'
import { CallPage, CallsPage } from './calls.tsx'
import { check, configurations, reload, rollback, save } from './configuration-pages.ts'
import { ConnectPage } from './connect.tsx'
import { ITEM_KINDS, listItems } from './items.ts'
import { LoginPage } from './layout.tsx'
import { OverviewPage } from './overview.tsx'
import {
  boundedStream,
  type ConsoleParts,
  type ConsoleRequest,
  findingsOf,
  HEADERS,
  missing,
  page,
  refusal,
  routesOf,
} from './request.ts'
import { ServerPage, ServersPage } from './servers.tsx'
import type { ConsoleSource } from './source.ts'
import { type FoundTool, ItemPage, ItemsPage, type PrefixChoice } from './tools.tsx'

/** The console, for an administrator who is logged in. */
export interface Console {
  /** @param path below `/_console`, without its slash */
  answer(c: Context, path: string, principal: AdminPrincipal): Promise<HttpResponse>
  /** A file that every browser may have; undefined: there is no such file. */
  file(path: string): HttpResponse | undefined
  /** The page that asks for a token. @param failed why the last one was refused */
  loginPage(failed?: string): HttpResponse
  readonly logins: ConsoleLogins
  readonly source: ConsoleSource
  /** Ends the pages' streams of calls, which would delay a shutdown. */
  endStreams(): void
}

/** The prefix as in the table. */
function pathOf(prefix: string): string {
  return prefix === '/' ? '' : prefix
}

/** Milliseconds between signs of life of an event stream. */
const TICK = 10_000
/** Milliseconds after which a page may load itself again. */
const CHANGE_INTERVAL = 1000

export function createConsole(parts: ConsoleParts): Console {
  const { logins, source } = parts
  const ending = new AbortController()
  const pages: Record<string, (request: ConsoleRequest) => Promise<HttpResponse>> = {
    '': overview,
    tools,
    calls,
    servers,
    budget,
    configurations,
    connect,
    events,
    changes,
  }
  const scripted: typeof pages = { render, call, complete, check, save, rollback, reload }
  return {
    logins,
    source,
    endStreams: () => ending.abort(),
    file: (path) => (Object.hasOwn(CONSOLE_FILES, path) ? file(path) : undefined),
    loginPage: (failed) => page(LoginPage({ failed }), 401),
    async answer(c, path, principal) {
      const isScripted = Object.hasOwn(scripted, path)
      const handler = isScripted ? scripted[path] : Object.hasOwn(pages, path) ? pages[path] : undefined
      if (!handler) return missing('', `The console has no page ${path}`)
      const methods = isScripted ? ['POST'] : ['GET', 'HEAD']
      if (!methods.includes(c.req.method))
        return refusal(405, `Use ${methods[0]}`, { allow: methods.join(', ') })
      return handler({ c, parts, principal, query: c.req.query(), ending: ending.signal })
    },
  }
}

function file(name: string): HttpResponse {
  return new HttpResponse(200, { ...HEADERS, 'content-type': CONSOLE_FILES[name]! }, consoleFile(name))
}

async function overview(request: ConsoleRequest): Promise<HttpResponse> {
  const { c, parts, principal } = request
  const { status, unready, source, table, replicas } = parts
  const { routes } = table()
  const recorded = await source.recorded()
  return page(
    OverviewPage({
      status: await status(principal),
      unready: unready(),
      findings: findingsOf(request),
      replicas: principal.tenant === undefined ? replicas() : [],
      hasLogin: c.req.header('cookie')?.includes(COOKIE) === true,
      callsOf: (prefix) => countsOf(recorded, pathOf(prefix)),
      listOf: (prefix) => {
        const route = routes.get(pathOf(prefix))
        return route && !route.proxy ? route.lists.tools.length : undefined
      },
    }),
  )
}

async function calls(request: ConsoleRequest): Promise<HttpResponse> {
  const { parts, principal, query } = request
  const { id, q = '', outcome = '' } = query
  if (id === undefined) {
    const all = lastCalls(await parts.source.recorded(), principal.tenant)
    return page(CallsPage({ calls: all, query: q, outcome }))
  }
  const found = await recordedCall(request, id)
  return found
    ? page(CallPage({ call: found }))
    : missing('calls', `The call ${id} is not among the last calls`)
}

async function recordedCall({ parts, principal: { tenant } }: ConsoleRequest, id: string) {
  const found = await parts.source.recordedCall(id)
  return tenant === undefined || found?.tenant === tenant ? found : undefined
}

async function connect({ parts, principal, query, c }: ConsoleRequest): Promise<HttpResponse> {
  const { prefixes } = await parts.status(principal)
  const client = CLIENT_NAMES.find((name) => name === query.client) ?? CLIENT_NAMES[0]!
  const agent = c.req.header('user-agent') ?? ''
  const platform = agent.includes('Windows') ? 'win32' : agent.includes('Macintosh') ? 'darwin' : 'linux'
  return page(ConnectPage({ prefixes, client, platform }))
}

function choiceOf({ prefix, access }: Route): PrefixChoice {
  return { prefix: prefix || '/', needsLogin: access !== 'open' }
}

async function tools(request: ConsoleRequest): Promise<HttpResponse> {
  const { parts, query } = request
  const routes = routesOf(request)
  const isMeant = ({ prefix }: Route) => query.prefix === undefined || (prefix || '/') === query.prefix
  const route = routes.find(isMeant)
  if (!route && query.prefix !== undefined) return missing('tools', `Nothing is served at ${query.prefix}`)
  const named = ITEM_KINDS.find(({ name }) => query[name] !== undefined)
  const kind = named ?? ITEM_KINDS.find(({ name }) => name === query.kind) ?? TOOLS
  const items = route ? await listItems(route, parts.source, kind) : []
  const prefix = route && choiceOf(route)
  if (!named || !prefix) {
    const isSearch = query.q && kind === TOOLS && typeof items !== 'string'
    const found = isSearch ? await searched(items, query.q!) : undefined
    const prefixes = routes.map(choiceOf)
    return page(ItemsPage({ prefixes, prefix, kind, items, query: query.q ?? '', found }))
  }
  const name = query[kind.name]!
  if (typeof items === 'string') return missing('tools', items)
  const item = items.find((one) => one[kind.key] === name)
  if (!item) return missing('tools', `${prefix.prefix} has no ${kind.name} ${name}`)
  const recorded = query.call === undefined ? undefined : await recordedCall(request, query.call)
  const canRender = kind === TOOLS && route.httpTool?.(name) !== undefined
  const given = argumentsOf(recorded)
  return page(ItemPage({ prefix, kind, item, given, canRender, mayCall: parts.calls }))
}

async function servers(request: ConsoleRequest): Promise<HttpResponse> {
  const { parts, principal, query } = request
  const status = await parts.status(principal)
  if (query.prefix === undefined) return page(ServersPage({ status }))
  const own = status.prefixes.find(({ prefix, upstream }) => upstream && prefix === query.prefix)
  if (!own) return missing('servers', `No MCP server is behind ${query.prefix}`)
  const prefix = pathOf(own.prefix)
  const lists = await parts.source.declared(prefix)
  const children = await parts.source.children(prefix)
  return page(ServerPage({ status: own, servers: children, lists }))
}

/** Maximum prefixes of the page. */
const MAX_BUDGETS = 200

async function budget(request: ConsoleRequest): Promise<HttpResponse> {
  const { parts, principal } = request
  const routes = routesOf(request)
  const recorded = await parts.source.recorded()
  const { prefixes } = await parts.status(principal)
  // Only to look at the page starts no server.
  const open = new Set(
    prefixes
      .filter(({ upstream }) => !upstream || upstream.state === 'connected')
      .map(({ prefix }) => pathOf(prefix)),
  )
  const budgets = routes
    .slice(0, MAX_BUDGETS)
    .map((route) => budgetOf(route, parts, open.has(route.prefix), countsOf(recorded, route.prefix)))
  return page(BudgetPage({ budgets: await Promise.all(budgets), left: routes.length - MAX_BUDGETS }))
}

async function budgetOf(
  route: Route,
  { source }: ConsoleParts,
  isOpen: boolean,
  { answered, saved }: PrefixCalls,
): Promise<PrefixBudget> {
  const { prefix, discovery } = route
  const counted = { prefix: prefix || '/', answered, saved }
  const whole = isOpen ? await listItems(route, source, TOOLS) : 'no server is connected'
  if (typeof whole === 'string') return { ...counted, whole, listed: undefined }
  const listed = discovery && discovery.mode !== 'list' ? await listItems(route, source, TOOLS, true) : whole
  return {
    ...counted,
    whole: tokensIn(stringify(whole).length),
    listed: typeof listed === 'string' ? undefined : tokensIn(stringify(listed).length),
  }
}

const TOOLS = ITEM_KINDS[0]!
/** Maximum results of a search. */
const MAX_FOUND = 20

/** The tools that clients find with these words, best first. */
async function searched(list: readonly JsonObject[], query: string): Promise<FoundTool[]> {
  const index = await inTurns(indexSteps(list.map((tool) => declared(tool))))
  return index.search(query, { limit: MAX_FOUND }).map(({ at, score }) => ({
    tool: list[at]!,
    score,
    words: index.explain(query, at),
  }))
}

function argumentsOf(recorded: RecordedCall | undefined): string {
  try {
    const params = recorded?.contents && parseVerbatim(recorded.contents.params)
    if (isObject(params) && params.arguments !== undefined) return stringify(params.arguments)
  } catch {
    // Long parameters are cut off.
  }
  return '{}'
}

/** Finished calls as they end, and signs of life. */
async function events(request: ConsoleRequest): Promise<HttpResponse> {
  return eventStream(request, TICK, (say) => ({
    onCall: (call) => say('call', call),
    onTick: () => say('tick'),
  }))
}

/** Tells pages to load themselves again: every ten seconds, and after calls, at most once a second. */
async function changes(request: ConsoleRequest): Promise<HttpResponse> {
  return eventStream(request, CHANGE_INTERVAL, (say) => {
    let due = 0
    return {
      onCall: () => {
        due = 0
      },
      onTick: () => {
        if (performance.now() < due) return
        due = performance.now() + TICK
        say('change')
      },
    }
  })
}

interface EventHandlers {
  /** A call has ended that the administrator may see. */
  onCall: (call: RecordedCall) => void
  /** At the beginning, and at each interval. */
  onTick: () => void
}

/** @param interval milliseconds */
function eventStream(
  { parts, principal: { tenant }, c, ending }: ConsoleRequest,
  interval: number,
  handlersOf: (say: (event: string, value?: object) => void) => EventHandlers,
): HttpResponse {
  const body = boundedStream(
    async (send, closed) => {
      const { onCall, onTick } = handlersOf((event, value = {}) =>
        send(`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`),
      )
      const stop = parts.source.follow((call) => {
        if (tenant === undefined || call.tenant === tenant) onCall(call)
      })
      const timer = setInterval(onTick, interval)
      onTick()
      await new Promise((resolve) => closed.addEventListener('abort', resolve, { once: true }))
      stop()
      clearInterval(timer)
    },
    AbortSignal.any([c.req.raw.signal, ending]),
  )
  return new HttpResponse(200, { ...HEADERS, 'content-type': 'text/event-stream' }, body)
}
