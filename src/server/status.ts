import { createHash } from 'node:crypto'
import type { Overseer } from '../access/admin.ts'
import type { Hub } from '../mcp/index.ts'
import type { ProxyStatus } from '../upstream/index.ts'
import type { LiveTable } from './live.ts'
import type { PastReload } from './reloads.ts'

/** What is live, as `GET /_status` answers it. Times are ISO 8601 in UTC, ages whole seconds. */
export interface Status {
  version: string
  /** Of the process; only for an overseer of all tenants. */
  pid?: number
  startedAt: string
  generation: number
  /** When the table of this generation was swapped in. */
  swappedAt: string
  configurations: ConfigurationStatus[]
  prefixes: PrefixStatus[]
  /** Of clients. */
  sessions: number
  /** Open streams of all clients; only for an overseer of all tenants. */
  streams?: number
  /** The newest first. */
  reloads: ReloadStatus[]
}

export interface ConfigurationStatus {
  name: string
  tenant: string
  /** Of its store; in folders and files a hash of the text. */
  version: string
  /** The first 12 digits of the SHA-256 of its text. */
  hash: string
  /** When this version went live here. */
  since: string
  ageSeconds: number
  /** Where it is: a path, or the store and the name. */
  place: string
  /** The newest version has errors; this is the last good one. */
  refused: boolean
}

export interface PrefixStatus {
  prefix: string
  ssePrefix?: string
  configuration: string
  tenant: string
  sessions: number
  /** Names of HTTP tools. */
  tools?: readonly string[]
  /** Of proxied servers. */
  upstream?: ProxyStatus
}

export type ReloadStatus = Pick<
  PastReload,
  'at' | 'ms' | 'triggers' | 'generation' | 'added' | 'changed' | 'removed' | 'refused'
> & { findings: ReturnType<typeof shownFinding>[] }

export interface StatusParts {
  live: LiveTable
  hub: Hub
  history: readonly PastReload[]
  version: string
  startedAt: string
}

/** What an overseer may see of what is live. */
export function statusOf(
  { live, hub, history, version, startedAt }: StatusParts,
  { tenant }: Overseer,
): Status {
  const { table, versions } = live
  const mine = (of: { tenant: string }) => tenant === undefined || of.tenant === tenant
  const prepared = [...table.prepared.values()].filter(mine)
  const ids = new Set(prepared.map(({ id }) => id))
  const places = new Set(prepared.map(({ file }) => file))
  const sessions = hub.sessionsByPrefix()
  const routes = [...table.routes.values()].filter(mine)
  const now = Date.now()
  const only = (list: readonly string[]) => list.filter((id) => tenant === undefined || ids.has(id))
  return {
    version,
    ...(tenant === undefined && { pid: process.pid }),
    startedAt,
    generation: table.generation,
    swappedAt: table.at,
    configurations: prepared.map((one) => ({
      name: one.name,
      tenant: one.tenant,
      version: versions.get(one.id) ?? hashOf(one),
      hash: hashOf(one),
      since: one.since,
      ageSeconds: Math.round((now - Date.parse(one.since)) / 1000),
      place: one.file,
      refused: live.refused.has(one.id),
    })),
    prefixes: routes.map(({ prefix, ssePrefix, configuration, tenant, tools, proxy }) => ({
      prefix: prefix || '/',
      ...(ssePrefix !== prefix && { ssePrefix: ssePrefix || '/' }),
      configuration,
      tenant,
      sessions: sessions.get(prefix) ?? 0,
      ...(proxy ? { upstream: proxy.proxy.status() } : { tools }),
    })),
    sessions: routes.reduce((sum, { prefix }) => sum + (sessions.get(prefix) ?? 0), 0),
    ...(tenant === undefined && { streams: hub.counts().streams }),
    reloads: history.map(({ at, ms, triggers, generation, added, changed, removed, refused, findings }) => ({
      at,
      ms,
      triggers,
      generation,
      added: only(added),
      changed: only(changed),
      removed: only(removed),
      refused: only(refused),
      findings: findings.filter(({ file }) => tenant === undefined || places.has(file)).map(shownFinding),
    })),
  }
}

/** A finding without the places of others that it is related to. */
export function shownFinding({ code, severity, file, range, message, hint }: PastReload['findings'][number]) {
  const place = range && { line: range.start.line, column: range.start.column }
  return { code, severity, file, ...place, message, ...(hint !== undefined && { hint }) }
}

/** Texts of thousands of configurations take long, and do not change. */
const hashes = new WeakMap<object, string>()

function hashOf(prepared: { text: string }): string {
  const known = hashes.get(prepared)
  if (known !== undefined) return known
  const hash = createHash('sha256').update(prepared.text).digest('hex').slice(0, 12)
  hashes.set(prepared, hash)
  return hash
}
