import { memory } from '../access/memory.ts'
import type { Hub } from '../mcp/index.ts'
import type { GaugeDefinition } from '../telemetry/metrics.ts'
import type { LiveTable } from './live.ts'

/** The values of the moment that metrics show. */
export function gaugesOf(live: LiveTable, hub: Hub): GaugeDefinition[] {
  const plain = (value: number) => [{ labels: {}, value }]
  const proxied = (of: 'sessions' | 'connections') => () =>
    [...live.table.routes.values()].flatMap(({ prefix, tenant, proxy }) =>
      proxy ? [{ labels: { tenant, prefix: prefix || '/' }, value: proxy.proxy.status()[of] }] : [],
    )
  return [
    {
      name: 'plantgw_generation',
      help: 'Number of the table that is served; a reload that changes something counts it up',
      read: () => plain(live.table.generation),
    },
    {
      name: 'plantgw_configurations',
      help: 'Configurations that are served, by tenant',
      read: () => {
        const counts = new Map<string, number>()
        for (const { tenant } of live.table.prepared.values())
          counts.set(tenant, (counts.get(tenant) ?? 0) + 1)
        return [...counts].map(([tenant, value]) => ({ labels: { tenant }, value }))
      },
    },
    {
      name: 'plantgw_configuration_refused',
      help: '1 for each configuration whose newest version was refused',
      read: () =>
        [...live.refused].map((configuration) => {
          const tenant = live.table.prepared.get(configuration)?.tenant
          return { labels: { configuration, ...(tenant !== undefined && { tenant }) }, value: 1 }
        }),
    },
    {
      name: 'plantgw_sessions',
      help: 'Sessions of clients, by prefix',
      read: () => {
        const { routes } = live.table
        return [...hub.sessionsByPrefix()].map(([prefix, value]) => {
          const tenant = routes.get(prefix)?.tenant
          return { labels: { prefix: prefix || '/', ...(tenant !== undefined && { tenant }) }, value }
        })
      },
    },
    {
      name: 'plantgw_streams',
      help: 'Open streams to clients',
      read: () => plain(hub.counts().streams),
    },
    {
      name: 'plantgw_buffered_bytes',
      help: 'Bytes of requests, answers and messages that the process holds (limits.maxBuffered)',
      read: () => plain(memory.used),
    },
    {
      name: 'plantgw_upstream_sessions',
      help: 'Sessions of clients with proxied servers, by prefix',
      read: proxied('sessions'),
    },
    {
      name: 'plantgw_upstream_connections',
      help: 'Connections and children of proxied servers, by prefix',
      read: proxied('connections'),
    },
  ]
}
