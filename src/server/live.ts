import { assemble, everything, type Reading, type Settled } from '../build/assemble.ts'
import { rulesOf } from '../build/check-configurations.ts'
import { Outbound, type OutboundRefusal } from '../build/outbound.ts'
import type { AssembleContext } from '../build/prepare.ts'
import { changed } from '../build/revision.ts'
import { KnownIssuers } from '../build/route-auth.ts'
import { type ConfigurationSource, fromPaths } from '../build/source.ts'
import { buildTable, changesOf, differenceOf, EMPTY_TABLE } from '../build/table.ts'
import type { BuildOptions, Difference, Loaded, Reload, Route, Table } from '../build/types.ts'
import { secretsOf } from '../cluster/index.ts'
import { type Env, qualifiedName, type ReadConfigurationsResult } from '../config/index.ts'
import type { Hub } from '../mcp/index.ts'
import { HttpClient } from '../net/index.ts'
import { inOneGo } from '../telemetry/loop-delay.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { createProxy, type McpProxy, type OtherWorkers, SharedServers } from '../upstream/index.ts'

export interface LiveOptions extends BuildOptions {
  /** Is called when a reload begins. */
  onReload?: () => void
  /** Is called with every table that is swapped in. */
  onTable?: (table: Table) => void
  /** The connections through which changes come, for the metrics; default: none. */
  connections?: () => readonly Connection[]
  /** Where workers serve: nothing is started here, and a table is swapped once all of them can serve it. */
  handOn?: HandOn
  /** What handles are sealed with; default: as the settings say. */
  sealSecrets?: readonly string[]
  /** Of a worker: what it tells the others of MCP servers. */
  otherWorkers?: OtherWorkers
}

/**
 * Has the workers make the same table.
 * @param env that the configurations of the table were read with
 * @returns what has all of them serve it
 * @throws Error when one of them cannot; all of them keep what they serve
 */
export type HandOn = (next: Table, env: Env) => Promise<() => Promise<void>>

/** What a reading comes to, before it is served. */
export interface Made {
  result: Reload
  /** The table; absent: that which is served stays. */
  next?: Table
  /** Serves it; it must come before another one is made. */
  commit(): void
  /** Has clients hear what is another than it was, once every worker serves it. */
  follow(): void
}

/** A connection to a store of configurations or to a broker of reload messages. */
export interface Connection {
  to: 'store' | 'broker'
  /** Names it to people, without credentials. */
  label: string
  up: boolean
}

type Heard = Pick<
  AssembleContext,
  | 'onCall'
  | 'onSession'
  | 'onUnanswered'
  | 'onUpstreamCall'
  | 'onUpstreamSession'
  | 'onStream'
  | 'onPinChange'
  | 'onRedacted'
  | 'witness'
  | 'tracer'
  | 'rates'
  | 'createResilience'
>

interface Hears extends Heard {
  onOutboundRefusal: (refusal: OutboundRefusal) => void
}

/** The table that is served, and how it changes. It holds connections and processes: close it. */
export class LiveTable {
  table: Table = EMPTY_TABLE
  /** Of the configurations that are served, by `id`, where the store has versions. */
  versions: ReadonlyMap<string, string> = new Map()
  /** The `id`s of configurations whose newest version was refused, or their files. */
  refused: ReadonlySet<string> = new Set()
  /** Whether the store of the configurations could be read at least once; files always can, or are missing one by one. */
  isRead = false
  /** As it was read for the last reading of the configurations. */
  private env: Env
  private readonly source: () => ReturnType<ConfigurationSource>
  private readonly http = new HttpClient()
  private readonly issuers: KnownIssuers
  /** The same for the life of the process: ids outlive reloads. */
  private readonly sealSecrets: readonly string[]
  private readonly hears: Heard
  /** Of what is served, where all of it was read. */
  private settled: Settled | undefined
  /** What judges the connections that are made for configurations. */
  readonly outbound: Outbound
  private readonly servers: SharedServers
  /** Proxies that were replaced, until their calls have ended. */
  private readonly retiring = new Map<McpProxy, Promise<void>>()

  constructor(
    private readonly options: LiveOptions,
    private readonly hub: Hub,
    { onOutboundRefusal, ...hears }: Hears,
  ) {
    this.hears = hears
    this.servers = new SharedServers(options.otherWorkers)
    this.sealSecrets = options.sealSecrets ?? secretsOf(options.settings.cluster)
    this.env = options.env
    this.outbound = new Outbound(options.settings, onOutboundRefusal)
    this.issuers = new KnownIssuers({ http: this.http, log: options.log })
    const source = sourceOf(options)
    // The same object each time: with other rules every file would be checked again.
    const rules = rulesOf(options.settings)
    this.source = () => {
      this.env = options.readEnv?.() ?? options.env
      return source(this.env, rules)
    }
  }

  /**
   * Reads the configurations and swaps the table, for the first time. Servers are not started yet.
   * @returns also what is wrong with configurations of which others are served
   */
  async load(): Promise<Loaded & Reload> {
    const { result, reading, commit } = await this.make(undefined, !this.options.skipInvalid)
    commit()
    return { ...result, sources: reading.sources }
  }

  /** Reads the configurations again and swaps the table; `names` may change, or everything. */
  async reload(names?: ReadonlySet<string>): Promise<Reload> {
    const { result, next, commit, follow } = await this.prepare(names)
    const handed = next && (await this.options.handOn?.(next, this.env))
    commit()
    if (handed) await handed()
    follow()
    return result
  }

  /** Reads the configurations again and makes the next table. */
  async prepare(names?: ReadonlySet<string>): Promise<Made> {
    this.options.onReload?.()
    const before = this.table
    const made = await this.make(names, false)
    const follow = () => {
      if (this.table !== before) this.follow(before)
    }
    return { ...made, follow }
  }

  /** Tells clients what is another than it was, and starts and ends servers. */
  private follow(before: Table): void {
    notifyClients(this.hub, before, this.table)
    this.options.onTable?.(this.table)
    this.start(before)
    const successors = successorsOf(before, this.table)
    for (const [, { proxy }] of changed(before.proxies, this.table.proxies)) {
      const retired = proxy.retire(successors.get(proxy)).finally(() => this.retiring.delete(proxy))
      this.retiring.set(proxy, retired)
    }
  }

  /** Reads the configurations and reports what a reload would change; nothing is changed or started. */
  async diff(): Promise<Difference> {
    const reading = await this.read()
    const { prepared: before, generation } = this.table
    const context = {
      ...contextOf(this.options, this.env),
      http: this.http,
      issuers: this.issuers,
      proxies: this.table.proxies,
    }
    const { prepared, findings, refused } = await assemble(reading, before, context)
    const changes = changesOf(before, prepared)
    const configurations = differenceOf(before, prepared, changes)
    return { ...changes, generation, refused, findings, configurations }
  }

  /** Starts servers of the table as their policies say, beside what is served: one may take long, or say nothing. */
  start(before: Table = EMPTY_TABLE): void {
    if (this.options.handOn) return
    for (const [, { proxy }] of changed(this.table.proxies, before.proxies))
      proxy.start().catch(unexpected('the start of an MCP server'))
  }

  async close(): Promise<void> {
    const proxies = [...this.table.proxies.values()].map(({ proxy }) => proxy)
    await Promise.all([...proxies, ...this.retiring.keys()].map((proxy) => proxy.close()))
    await Promise.all(this.retiring.values())
    await this.http.drain()
  }

  private read() {
    return this.source()
  }

  private async make(
    only: ReadonlySet<string> | undefined,
    strict: boolean,
  ): Promise<Omit<Made, 'follow'> & { reading: ReadConfigurationsResult }> {
    const reading = await this.read()
    const before = this.table
    const context: AssembleContext = {
      ...contextOf(this.options, this.env),
      http: this.http,
      outbound: this.outbound,
      issuers: this.issuers,
      sealSecrets: this.sealSecrets,
      ...this.hears,
      createProxy,
      servers: this.servers,
      proxies: before.proxies,
    }
    const made = await assemble(reading, before.prepared, context, only, this.settled)
    const { prepared, refused } = made
    const changes = changesOf(before.prepared, prepared)
    const isSame = Object.values(changes).every((names) => names.length === 0)
    const { generation = before.generation + 1 } = reading
    const table = isSame
      ? before
      : inOneGo('build the table', '', () => buildTable(generation, prepared, before))
    const commit = () => {
      this.isRead ||= !reading.findings.some(({ code }) => code === 'unreadable-store')
      this.table = table
      this.settled = made.settled
      // A proxy that is kept has the HTTP tools of the new table beside it.
      for (const [, { routes }] of changed(prepared, before.prepared))
        for (const { proxy, local } of routes) proxy?.proxy.serve(local)
      this.versions = versionsOf(reading, prepared, this.versions)
      // Of those that were not read again it stays so.
      const { asked } = made
      const others = asked ? [...this.refused].filter((one) => !asked.has(one)) : []
      this.refused = new Set([...refused, ...others])
    }
    const found = strict ? everything(reading, made.findings) : made.findings
    const result = { ...changes, generation: table.generation, refused, findings: found }
    return { result, reading, ...(!isSame && { next: table }), commit }
  }
}

/** The table that a gateway would serve, made of the valid configurations; nothing is started or called. */
export async function previewTable(options: BuildOptions): Promise<Loaded & { table: Table }> {
  const reading = await sourceOf(options)(options.env, rulesOf(options.settings))
  const context = { ...contextOf(options, options.env), http: new HttpClient(), proxies: new Map() }
  const { prepared, findings } = await assemble(reading, new Map(), context)
  const found = options.skipInvalid ? findings : everything(reading, findings)
  return { table: buildTable(1, prepared), findings: found, sources: reading.sources }
}

function sourceOf({ paths }: BuildOptions): ConfigurationSource {
  return typeof paths === 'function' ? paths : fromPaths(paths)
}

function contextOf({ settings, log, version }: BuildOptions, env: Env) {
  const { limits, redact, tenants, publicUrl, synonyms } = settings
  const known = { ...(tenants && { tenants }), ...(publicUrl !== undefined && { publicUrl }) }
  return { env, limits, redact, log, version, synonyms, ...known }
}

/** What answers in place of each proxy that a reload has replaced. */
function successorsOf(before: Table, after: Table): Map<McpProxy, McpProxy> {
  const found = new Map<McpProxy, McpProxy>()
  for (const { prefix, proxy } of changed(before.prepared, after.prepared).flatMap(([, old]) => old.routes)) {
    const successor = after.routes.get(prefix)?.proxy
    if (proxy && successor) found.set(proxy.proxy, successor.proxy)
  }
  return found
}

/** Of what is served, by `id`: the newest version may have been refused, or not read. */
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

/** Sessions outlive a reload: they are notified which of their lists changed, and end where nothing is served now. */
function notifyClients(hub: Hub, before: Table, after: Table): void {
  const routes = changed(before.prepared, after.prepared).flatMap(([, old]) => old.routes)
  const heard = hub.heard()
  for (const old of routes) {
    const { prefix } = old
    const route = after.routes.get(prefix)
    if (!route) hub.endPrefix(prefix)
    else if (old.proxy !== route.proxy) {
      for (const list of LISTS) hub.listChanged(prefix, list)
      // What was subscribed to is the old server's.
      hub.endListeners(prefix)
    } else if (heard.has(prefix)) listsChanged(hub, old, route)
  }
}

/** Tells clients which lists of HTTP tools changed. */
function listsChanged(hub: Hub, old: Route, { prefix, lists, discovery, keepsResults }: Route): void {
  const isShownAlike = discovery?.key === old.discovery?.key && keepsResults === old.keepsResults
  if (lists.tools !== old.lists.tools || !isShownAlike) hub.listChanged(prefix, 'tools')
  if (lists.prompts !== old.lists.prompts) hub.listChanged(prefix, 'prompts')
  if (lists.skills !== old.lists.skills) hub.listChanged(prefix, 'resources')
}
