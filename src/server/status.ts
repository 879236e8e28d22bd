import { createHash } from 'node:crypto'
import type { AdminPrincipal } from '../access/admin.ts'
import type { Access, Prepared, Route } from '../build/types.ts'
import { clientBase, endpointPath, type Settings } from '../config/index.ts'
import type { SessionRegistry } from '../mcp/index.ts'
import { mapped, type Steps } from '../text/index.ts'
import type { ProxyStatus } from '../upstream/index.ts'
import type { LiveTable, LoginStatus } from './live.ts'
import type { PastReload } from './reloads.ts'
import type { ServingStatus, WorkerStatus } from './workers.ts'

/** The state of the gateway, as answered by `GET /_status`. Times are ISO 8601 in UTC, ages whole seconds. */
export interface Status {
  version: string
  /** Process id; only for administrators of all tenants. */
  pid?: number
  startedAt: string
  generation: number
  /** When this generation's table was swapped in. */
  swappedAt: string
  configurations: ConfigurationStatus[]
  prefixes: PrefixStatus[]
  sessions: number
  /** Open streams of all clients; only for administrators of all tenants. */
  streams?: number
  /** With several workers; only for administrators of all tenants. */
  workers?: Pick<WorkerStatus, 'worker' | 'pid' | 'startedAt' | 'connections' | 'sessions'>[]
  /** Logins of the operator that servers need; absent: none. */
  logins?: LoginStatus[]
  /** Newest first. */
  reloads: ReloadStatus[]
}

export function servingStatus({ table }: LiveTable, registry: SessionRegistry): ServingStatus {
  const proxied = [...table.routes.values()].flatMap(({ prefix, proxy }) =>
    proxy ? [[prefix, proxy.proxy.status()] as const] : [],
  )
  return { ...registry.counts(), sessionsOf: registry.sessionsByPrefix(), upstreams: new Map(proxied) }
}

export interface ConfigurationStatus {
  name: string
  tenant: string
  /** Version in its store; for folders and files a hash of the text. */
  version: string
  /** The first 12 digits of the SHA-256 of its text. */
  hash: string
  /** When this version was first served here. */
  since: string
  ageSeconds: number
  /** A path, or the store and the name. */
  place: string
  /** Whether the newest version has errors, and the last good one is served. */
  refused: boolean
}

export interface PrefixStatus {
  prefix: string
  ssePrefix?: string
  /** Streamable HTTP URL for clients. */
  url: string
  configuration: string
  tenant: string
  access: Access
  sessions: number
  /** Revisions of these sessions, the oldest first. */
  revisions: string[]
  /** Names of HTTP tools. */
  tools?: readonly string[]
  /** State of proxied servers. */
  upstream?: ProxyStatus
}

export type ReloadStatus = Pick<
  PastReload,
  'at' | 'ms' | 'triggers' | 'generation' | 'added' | 'changed' | 'removed' | 'refused'
> & { findings: ReturnType<typeof shownFinding>[] }

export interface StatusParts {
  live: LiveTable
  registry: SessionRegistry
  logins: readonly LoginStatus[]
  history: readonly PastReload[]
  version: string
  startedAt: string
  /** Absent: this process serves. */
  workers?: readonly WorkerStatus[] | undefined
  /** Settings that determine the URLs for clients. */
  settings: Pick<Settings, 'publicUrl' | 'host' | 'port' | 'tls'>
}

/** The status for an administrator, in steps, as thousands of prefixes take long. */
export function* statusSteps(
  { live, registry, logins, history, version, startedAt, workers, settings }: StatusParts,
  { tenant }: AdminPrincipal,
): Steps<Status> {
  const { table } = live
  const base = clientBase(settings)
  const mine = (of: { tenant: string }) => tenant === undefined || of.tenant === tenant
  const prepared = [...table.prepared.values()].filter(mine)
  const serving = workers ?? [servingStatus(live, registry)]
  const routes = [...table.routes.values()].filter(mine)
  const ownLogins = logins.filter(mine)
  const ofTenant = tenant === undefined ? undefined : prepared
  return {
    version,
    ...(tenant === undefined && { pid: process.pid }),
    startedAt,
    generation: table.generation,
    swappedAt: table.at,
    configurations: yield* mapped(prepared, (one) => configurationStatus(one, live)),
    prefixes: yield* mapped(routes, (route) => prefixStatus(route, base, serving)),
    sessions: routes.reduce((sum, { prefix }) => sum + sessionsAt(prefix, serving), 0),
    ...(tenant === undefined && {
      streams: serving.reduce((sum, { streams }) => sum + streams, 0),
      ...(workers && { workers: workers.map(workerStatus) }),
    }),
    ...(ownLogins.length && { logins: ownLogins }),
    reloads: yield* mapped(history, (past) => reloadStatus(past, ofTenant)),
  }
}

function workerStatus({ worker, pid, startedAt, connections, sessions }: WorkerStatus) {
  return { worker, pid, startedAt, connections, sessions }
}

function sessionsAt(prefix: string, serving: readonly ServingStatus[]): number {
  return serving.reduce((sum, { sessionsOf }) => sum + (sessionsOf.get(prefix)?.count ?? 0), 0)
}

const STATES = ['idle', 'starting', 'connected', 'failing'] as const

/** The worst state of one prefix in several processes. */
function joined([first, ...others]: readonly ProxyStatus[]): ProxyStatus | undefined {
  if (!first || !others.length) return first
  const all = [first, ...others]
  const faults = [...new Set(all.flatMap((one) => one.faults ?? []))]
  const declarations = [...new Set(all.flatMap((one) => one.declarations ?? []))]
  return {
    servers: first.servers,
    state: STATES.findLast((state) => all.some((one) => one.state === state)) ?? 'idle',
    sessions: all.reduce((sum, { sessions }) => sum + sessions, 0),
    connections: all.reduce((sum, { connections }) => sum + connections, 0),
    pids: all.flatMap(({ pids }) => pids),
    ...(faults.length && { faults }),
    ...(declarations.length && { declarations }),
  }
}

function configurationStatus(one: Prepared, { versions, refused }: LiveTable): ConfigurationStatus {
  const { id, name, tenant, since, file } = one
  const hash = hashOf(one)
  return {
    name,
    tenant,
    version: versions.get(id) ?? hash,
    hash,
    since,
    ageSeconds: Math.round((Date.now() - Date.parse(since)) / 1000),
    place: file,
    refused: refused.has(id),
  }
}

function prefixStatus(route: Route, base: string, serving: readonly ServingStatus[]): PrefixStatus {
  const { prefix, ssePrefix, configuration, tenant, access, tools, proxy } = route
  const upstream = joined(serving.flatMap(({ upstreams }) => upstreams.get(prefix) ?? []))
  return {
    prefix: prefix || '/',
    ...(ssePrefix !== prefix && { ssePrefix: ssePrefix || '/' }),
    url: base + endpointPath(prefix, 'mcp'),
    configuration,
    tenant,
    access,
    sessions: sessionsAt(prefix, serving),
    revisions: [
      ...new Set(serving.flatMap(({ sessionsOf }) => sessionsOf.get(prefix)?.revisions ?? [])),
    ].sort(),
    ...(proxy ? { upstream: upstream ?? proxy.proxy.status() } : { tools }),
  }
}

/** @param only configurations that a tenant's administrator may see */
function reloadStatus(past: PastReload, only: readonly Prepared[] | undefined): ReloadStatus {
  const { at, ms, triggers, generation, added, changed, removed, refused, findings } = past
  const ids = only && new Set(only.map(({ id }) => id))
  const places = only && new Set(only.map(({ file }) => file))
  const shown = (list: readonly string[]) => list.filter((id) => !ids || ids.has(id))
  return {
    at,
    ms,
    triggers,
    generation,
    added: shown(added),
    changed: shown(changed),
    removed: shown(removed),
    refused: shown(refused),
    findings: findings.filter(({ file }) => !places || places.has(file)).map(shownFinding),
  }
}

/** A finding without related locations. */
export function shownFinding({ code, severity, file, range, message, hint }: PastReload['findings'][number]) {
  const place = range && { line: range.start.line, column: range.start.column }
  return { code, severity, file, ...place, message, ...(hint !== undefined && { hint }) }
}

/** Hashes are cached, as thousands of texts take long and do not change. */
const hashes = new WeakMap<object, string>()

function hashOf(prepared: { text: string }): string {
  const known = hashes.get(prepared)
  if (known !== undefined) return known
  const hash = createHash('sha256').update(prepared.text).digest('hex').slice(0, 12)
  hashes.set(prepared, hash)
  return hash
}
