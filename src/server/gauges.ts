import { memory } from '../access/memory.ts'
import type { SessionRegistry } from '../mcp/index.ts'
import type { BreakerState } from '../net/index.ts'
import type { GaugeDefinition, Sample } from '../telemetry/metrics.ts'
import type { LiveOptions, LiveTable } from './live.ts'

/** State of the gateway for health checks. */
export interface Readiness {
  /** Why `/_ready` fails; undefined if ready. */
  unready(): string | undefined
  /** Time of the last reading without errors, in milliseconds since the epoch; 0: never. */
  lastGood: number
  /** Whether the plant store's last operation succeeded; absent: no plant store. */
  plantsAvailable?: () => boolean
}

interface GaugeParts extends Pick<LiveOptions, 'connections'> {
  /** Undefined until it exists. */
  live: () => LiveTable
  registry: SessionRegistry
  readiness: Readiness
}

const plain = (value: number) => [{ labels: {}, value }]

/** Gauges of readiness and of connections for changes. */
function readinessGauges({
  readiness,
  connections = () => [],
}: Pick<GaugeParts, 'readiness' | 'connections'>): GaugeDefinition[] {
  const connected = (to: 'store' | 'broker') => () =>
    connections().flatMap((one) =>
      one.to === to ? [{ labels: { [to]: one.label }, value: Number(one.up) }] : [],
    )
  return [
    {
      name: 'plantgw_ready',
      help: '1 while /_ready responds 200',
      read: () => plain(readiness.unready() === undefined ? 1 : 0),
    },
    {
      name: 'plantgw_last_good_reload_timestamp_seconds',
      help: 'When the configurations were last read without errors, at the start or by a reload',
      read: () => plain(readiness.lastGood / 1000),
    },
    {
      name: 'plantgw_store_connected',
      help: '0 while the store of the configurations cannot be read',
      read: connected('store'),
    },
    {
      name: 'plantgw_broker_connected',
      help: '0 while a broker of reload messages cannot be reached',
      read: connected('broker'),
    },
    {
      name: 'plantgw_plant_store_available',
      help: '0 while the plant store cannot be reached or written, as its last operation shows',
      read: () => (readiness.plantsAvailable ? plain(Number(readiness.plantsAvailable())) : []),
    },
  ]
}

const STATES = ['closed', 'half-open', 'open'] as const

/** The worst breaker state of each server; a tenant's configurations may have servers of the same name. */
function breakerStates({ table: { prepared, routes } }: LiveTable): Sample[] {
  const worst = new Map<string, Sample>()
  const add = (tenant: string, server: string, state: BreakerState | undefined) => {
    if (!state) return
    const key = JSON.stringify([tenant, server])
    const value = Math.max(STATES.indexOf(state), worst.get(key)?.value ?? 0)
    worst.set(key, { labels: { tenant, server }, value })
  }
  for (const { resiliences } of prepared.values())
    for (const { tenant, server, resilience } of resiliences?.values() ?? [])
      add(tenant, server, resilience.state())
  for (const { tenant, proxy } of routes.values())
    for (const { server, state } of proxy?.proxy.breakers() ?? []) add(tenant, server, state)
  return [...worst.values()]
}

function loginGauge(live: GaugeParts['live']): GaugeDefinition {
  return {
    name: 'plantgw_login_missing',
    help: '1 for each server that needs a login of the operator and has none that can be read, 0 if it has one',
    read: async () =>
      (await live().logins()).map(({ tenant, configuration, server, state }) => ({
        labels: { tenant, configuration, server },
        value: Number(state !== 'present'),
      })),
  }
}

/** Gauges with current values. */
export function gaugesOf(parts: GaugeParts): GaugeDefinition[] {
  const { live, registry } = parts
  const proxied = (of: 'sessions' | 'connections') => () =>
    [...live().table.routes.values()].flatMap(({ prefix, tenant, proxy }) =>
      proxy ? [{ labels: { tenant, prefix: prefix || '/' }, value: proxy.proxy.status()[of] }] : [],
    )
  return [
    ...readinessGauges(parts),
    {
      name: 'plantgw_upstream_breaker_state',
      over: 'max',
      help: 'Circuit breaker of a server, the worst of its origins: 0 closed, 1 half-open, 2 open',
      read: () => breakerStates(live()),
    },
    loginGauge(live),
    {
      name: 'plantgw_generation',
      help: 'Number of the table that is served; a reload that changes something counts it up',
      read: () => plain(live().table.generation),
    },
    {
      name: 'plantgw_configurations',
      help: 'Configurations that are served, by tenant',
      read: () => {
        const counts = new Map<string, number>()
        for (const { tenant } of live().table.prepared.values())
          counts.set(tenant, (counts.get(tenant) ?? 0) + 1)
        return [...counts].map(([tenant, value]) => ({ labels: { tenant }, value }))
      },
    },
    {
      name: 'plantgw_configuration_refused',
      help: '1 for each configuration whose newest version was refused',
      read: () =>
        [...live().refused].map((id) => {
          const { name = id, tenant } = live().table.prepared.get(id) ?? {}
          return { labels: { configuration: name, ...(tenant !== undefined && { tenant }) }, value: 1 }
        }),
    },
    {
      name: 'plantgw_sessions',
      over: 'sum',
      help: 'Sessions of clients, by prefix',
      read: () => {
        const { routes } = live().table
        return [...registry.sessionsByPrefix()].map(([prefix, { count: value }]) => {
          const tenant = routes.get(prefix)?.tenant
          return { labels: { prefix: prefix || '/', ...(tenant !== undefined && { tenant }) }, value }
        })
      },
    },
    {
      name: 'plantgw_streams',
      over: 'sum',
      help: 'Open streams to clients',
      read: () => plain(registry.counts().streams),
    },
    {
      name: 'plantgw_buffered_bytes',
      over: 'sum',
      help: 'Bytes of requests, answers and messages that the process holds',
      read: () => plain(memory.used),
    },
    {
      name: 'plantgw_upstream_sessions',
      over: 'sum',
      help: 'Sessions of clients with proxied servers, by prefix',
      read: proxied('sessions'),
    },
    {
      name: 'plantgw_upstream_connections',
      over: 'sum',
      help: 'Connections and children of proxied servers, by prefix',
      read: proxied('connections'),
    },
  ]
}
