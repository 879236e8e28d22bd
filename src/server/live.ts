import { allFindings, assemble, type Reading } from '../build/assemble.ts'
import { rulesOf } from '../build/check-configurations.ts'
import { Outbound, type OutboundRefusal } from '../build/outbound.ts'
import type { AssembleContext } from '../build/prepare-context.ts'
import { KnownIssuers } from '../build/route-auth.ts'
import { type ConfigurationSource, fromPaths } from '../build/source.ts'
import { buildTable, changed, changesOf, differenceOf, EMPTY_TABLE } from '../build/table.ts'
import type { BuildOptions, Difference, Loaded, Reload, Route, Table } from '../build/types.ts'
import { sealSecretsOf } from '../cluster/index.ts'
import { type Env, qualifiedName, type ReadConfigurationsResult } from '../config/index.ts'
import { loginName } from '../credentials/oauth/flow.ts'
import type { LoginState, ServerLogin } from '../credentials/oauth/server-login.ts'
import { type Finding, sortFindings } from '../findings/index.ts'
import type { SessionRegistry } from '../mcp/index.ts'
import { HttpClient } from '../net/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { createProxy, type McpProxy, type OtherWorkers, SharedServers } from '../upstream/index.ts'
import type { Workers } from './workers.ts'

export interface LiveOptions extends BuildOptions {
  /** Called when a reload begins. */
  onReload?: () => void
  /** Called with every new table. */
  onTable?: (table: Table) => void
  /** Connections that announce changes, for metrics. Default: none. */
  connections?: () => readonly Connection[]
  /** With workers: starts nothing here, and they serve a table before it is swapped here. */
  handOn?: Workers['handOn']
  /** Secrets that seal handles. Default: those of the settings. */
  sealSecrets?: readonly string[]
  /** In a worker: notifies the others about MCP servers. */
  otherWorkers?: OtherWorkers
}

/** The result of a reading that is not served yet. */
export interface PreparedReload {
  result: Reload
  /** The environment with which it was read. */
  env: Env
  /** The new table; absent: the current one stays. */
  next?: Table
  /** Serves the table; must be called before the next reading. */
  commit(): void
  /** Notifies clients of changes, once every worker serves the table. */
  follow(): void
}

/** A connection to a configuration store or a reload message broker. */
export interface Connection {
  to: 'store' | 'broker'
  /** Display name without credentials. */
  label: string
  up: boolean
}

/** Parts of the process that each table uses: receivers of events, rates, resilience. */
type Lasting = Omit<AssembleContext, keyof ReturnType<typeof contextOf> | 'http' | 'proxies'>

/** The served table and its replacement. It holds connections and processes, so close it. */
export class LiveTable {
  table: Table = EMPTY_TABLE
  /** Store versions of the served configurations, by `id`. */
  versions: ReadonlyMap<string, string> = new Map()
  /** The `id`s, or files, of configurations whose newest version was refused. */
  refused: ReadonlySet<string> = new Set()
  /** Whether the store was readable at least once; always true for files. */
  isRead = false
  /** Findings of the last reading of each file. */
  findings: readonly Finding[] = []
  /** The environment with which the table was read. */
  env: Env
  /** Reads the configurations with the environment of now. */
  private readonly read: () => Promise<{ env: Env; reading: Awaited<ReturnType<ConfigurationSource>> }>
  private readonly http = new HttpClient()
  private readonly issuers: KnownIssuers
  /** Constant for the process, because ids survive reloads. */
  private readonly sealSecrets: readonly string[]
  private readonly lasting: Lasting
  /** Checks outbound connections of configurations. */
  readonly outbound: Outbound
  private readonly servers: SharedServers
  /** Replaced proxies whose calls are still running. */
  private readonly retiring = new Map<McpProxy, Promise<void>>()

  constructor(
    private readonly options: LiveOptions,
    private readonly registry: SessionRegistry,
    { onOutboundRefusal, ...lasting }: Lasting & { onOutboundRefusal: (refusal: OutboundRefusal) => void },
  ) {
    this.lasting = lasting
    this.servers = new SharedServers(options.otherWorkers)
    this.sealSecrets = options.sealSecrets ?? sealSecretsOf(options.settings.cluster)
    this.env = options.env
    this.outbound = new Outbound(options.settings, onOutboundRefusal)
    this.issuers = new KnownIssuers({ http: this.http, log: options.log })
    const source = sourceOf(options)
    // The same object each time, as other rules would cause every file to be checked again.
    const rules = rulesOf(options.settings)
    this.read = async () => {
      const env = options.readEnv?.() ?? options.env
      return { env, reading: await source(env, rules) }
    }
  }

  /**
   * Reads the configurations and serves the first table; servers are not started yet.
   * @returns also the errors of refused configurations
   */
  async load(): Promise<Loaded & Reload> {
    const { result, reading, commit } = await this.make(undefined, !this.options.skipInvalid)
    commit()
    return { ...result, sources: reading.sources }
  }

  /** Reads all configurations, or `names`, again and swaps the table. */
  async reload(names?: ReadonlySet<string>): Promise<Reload> {
    const { result, next, env, commit, follow } = await this.prepare(names)
    const workers = next && (await this.options.handOn?.(next, env))
    commit()
    workers?.announce()
    follow()
    if (!workers) return result
    const refused = [...new Set([...result.refused, ...workers.refused])]
    return { ...result, refused, findings: [...result.findings, ...workers.findings] }
  }

  /** Reads the configurations again and builds the next table. */
  async prepare(names?: ReadonlySet<string>): Promise<PreparedReload> {
    this.options.onReload?.()
    const before = this.table
    const made = await this.make(names, false)
    const follow = () => {
      if (this.table !== before) this.follow(before)
    }
    return { ...made, follow }
  }

  /** Notifies clients of changes, and starts and ends servers. */
  private follow(before: Table): void {
    notifyClients(this.registry, before, this.table)
    this.options.onTable?.(this.table)
    this.start(before)
    const successors = successorsOf(before, this.table)
    for (const [, { proxy }] of changed(before.proxies, this.table.proxies)) {
      const retired = proxy.retire(successors.get(proxy)).finally(() => this.retiring.delete(proxy))
      this.retiring.set(proxy, retired)
    }
  }

  /** Reads the configurations and reports what a reload would change, without changing or starting anything. */
  async diff(): Promise<Difference> {
    const { env, reading } = await this.read()
    const { prepared: before, generation } = this.table
    const context = {
      ...contextOf(this.options, env),
      http: this.http,
      issuers: this.issuers,
      proxies: this.table.proxies,
    }
    const { prepared, findings, refused } = await assemble(reading, before, context)
    const changes = changesOf(before, prepared)
    const configurations = differenceOf(before, prepared, changes)
    const kept = refused.filter((id) => before.has(id))
    return { ...changes, generation, refused, kept, findings, configurations }
  }

  /**
   * Starts servers as their policies require, without waiting, as one may be slow or hang, and reports missing logins.
   */
  start(before: Table = EMPTY_TABLE): void {
    if (!this.options.otherWorkers)
      for (const [, { logins = [] }] of changed(this.table.prepared, before.prepared))
        for (const login of logins) this.reportLogin(login).catch(unexpected('the login of a server'))
    if (this.options.handOn) return
    for (const [, { proxy }] of changed(this.table.proxies, before.proxies))
      proxy.start().catch(unexpected('the start of an MCP server'))
  }

  /** The logins of the operator that servers need, with their states. */
  logins(): Promise<LoginStatus[]> {
    const all = [...this.table.prepared.values()].flatMap(({ logins = [] }) => logins)
    return Promise.all(all.map(loginStatus))
  }

  private async reportLogin(login: ServerLogin): Promise<void> {
    const { state, ...about } = await loginStatus(login)
    if (state === 'present') return
    const text = state === 'unknown' ? 'the login of a server cannot be read' : 'a server needs a login'
    this.options.log.warn({ ...about, command: `plantgw login ${loginName(login.server)}` }, text)
  }

  async close(): Promise<void> {
    const proxies = [...this.table.proxies.values()].map(({ proxy }) => proxy)
    await Promise.all([...proxies, ...this.retiring.keys()].map((proxy) => proxy.close()))
    await Promise.all(this.retiring.values())
    await this.http.drain()
  }

  private async make(
    only: ReadonlySet<string> | undefined,
    strict: boolean,
  ): Promise<Omit<PreparedReload, 'follow'> & { reading: ReadConfigurationsResult }> {
    const { env, reading } = await this.read()
    const before = this.table
    const context: AssembleContext = {
      ...contextOf(this.options, env),
      http: this.http,
      outbound: this.outbound,
      issuers: this.issuers,
      sealSecrets: this.sealSecrets,
      ...this.lasting,
      createProxy,
      servers: this.servers,
      proxies: before.proxies,
    }
    const made = await assemble(reading, before.prepared, context, only)
    const { prepared, refused } = made
    const changes = changesOf(before.prepared, prepared)
    const isSame = Object.values(changes).every((names) => names.length === 0)
    const { generation = before.generation + 1 } = reading
    const table = isSame ? before : buildTable(generation, prepared)
    const found = strict ? allFindings(reading, made.findings) : made.findings
    const commit = () => {
      this.isRead ||= !reading.findings.some(({ code }) => code === 'unreadable-store')
      this.table = table
      this.env = env
      // A kept proxy gets the HTTP tools of the new table.
      for (const [, { routes }] of changed(prepared, before.prepared))
        for (const { proxy, local } of routes) proxy?.proxy.serve(local)
      this.versions = versionsOf(reading, prepared, this.versions)
      // Configurations not read again stay refused.
      const { asked } = made
      const others = asked ? [...this.refused].filter((one) => !asked.has(one)) : []
      this.refused = new Set([...refused, ...others])
      const files = new Set(found.map(({ file }) => file))
      for (const id of asked ?? [])
        for (const one of [before.prepared.get(id), prepared.get(id)]) if (one) files.add(one.file)
      const kept = asked ? this.findings.filter(({ file }) => !files.has(file)) : []
      this.findings = sortFindings([...found, ...kept])
    }
    const result = { ...changes, generation: table.generation, refused, findings: found }
    return { result, reading, env, ...(!isSame && { next: table }), commit }
  }
}

/**
 * Builds the table of the valid configurations without starting or calling anything.
 * @param http for what is called with parts of the table
 */
export async function previewTable(
  options: BuildOptions,
  http = new HttpClient(),
): Promise<Loaded & { table: Table }> {
  const reading = await sourceOf(options)(options.env, rulesOf(options.settings))
  const outbound = new Outbound(options.settings)
  const context = { ...contextOf(options, options.env), http, outbound, proxies: new Map() }
  const { prepared, findings } = await assemble(reading, new Map(), context)
  const found = options.skipInvalid ? findings : allFindings(reading, findings)
  return { table: buildTable(1, prepared), findings: found, sources: reading.sources }
}

/** A login that a server needs. */
export interface LoginStatus {
  server: string
  configuration: string
  tenant: string
  /** `unknown`: the vault cannot be read. */
  state: LoginState | 'unknown'
}

async function loginStatus(login: ServerLogin): Promise<LoginStatus> {
  const { name: server, configuration, tenant } = login.server
  return { server, configuration, tenant, state: await login.state().catch(() => 'unknown' as const) }
}

function sourceOf({ paths }: BuildOptions): ConfigurationSource {
  return typeof paths === 'function' ? paths : fromPaths(paths)
}

function contextOf({ settings, log, version, vault }: BuildOptions, env: Env) {
  const { limits, redact, tenants, publicUrl } = settings
  const known = { ...(tenants && { tenants }), ...(publicUrl !== undefined && { publicUrl }) }
  return { env, limits, redact, log, version, vault, ...known }
}

/** The successor of each replaced proxy. */
function successorsOf(before: Table, after: Table): Map<McpProxy, McpProxy> {
  const found = new Map<McpProxy, McpProxy>()
  for (const { prefix, proxy } of changed(before.prepared, after.prepared).flatMap(([, old]) => old.routes)) {
    const successor = after.routes.get(prefix)?.proxy
    if (proxy && successor) found.set(proxy.proxy, successor.proxy)
  }
  return found
}

/** Version served for each id. */
function versionsOf(
  { configurations, versions }: Reading & { versions?: ReadonlyMap<string, string> },
  prepared: Table['prepared'],
  before: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  if (!versions) return before
  const found = new Map([...before].filter(([id]) => prepared.has(id)))
  for (const { configuration, text } of configurations) {
    if (!configuration) continue
    const id = qualifiedName(configuration)
    const version = prepared.get(id)?.text === text ? versions.get(id) : undefined
    if (version !== undefined) found.set(id, version)
  }
  return found
}

const LISTS = ['tools', 'prompts', 'resources'] as const

/** Sessions survive a reload: they are notified of changed lists, and end if their prefix is gone. */
function notifyClients(registry: SessionRegistry, before: Table, after: Table): void {
  const routes = changed(before.prepared, after.prepared).flatMap(([, old]) => old.routes)
  const heard = registry.heard()
  for (const old of routes) {
    const { prefix } = old
    const route = after.routes.get(prefix)
    if (!route) registry.endPrefix(prefix)
    else if (old.proxy !== route.proxy) {
      for (const list of LISTS) registry.listChanged(prefix, list)
      // Subscriptions refer to the old server.
      registry.endListeners(prefix)
    } else if (heard.has(prefix)) listsChanged(registry, old, route)
  }
}

/** Notifies clients of changed lists of HTTP tools. */
function listsChanged(
  registry: SessionRegistry,
  old: Route,
  { prefix, lists, discovery, keepsResults }: Route,
): void {
  const isShownAlike = discovery?.key === old.discovery?.key && keepsResults === old.keepsResults
  if (lists.tools !== old.lists.tools || !isShownAlike) registry.listChanged(prefix, 'tools')
  if (lists.prompts !== old.lists.prompts) registry.listChanged(prefix, 'prompts')
  if (lists.skills !== old.lists.skills) registry.listChanged(prefix, 'resources')
}
