import type { Table } from '../../build/types.ts'
import { table } from '../columns.ts'

/** What a table serves, for people: a line for each prefix. */
export function printedRoutes({ routes }: Pick<Table, 'routes'>): string {
  const rows = [...routes.values()].map(
    ({ prefix, ssePrefix, configuration, tenant, tools, proxy, authenticate }) => [
      `${prefix}/mcp`,
      `${ssePrefix}/sse`,
      configuration,
      tenant,
      authenticate ? 'token' : 'open',
      proxy ? `MCP server: ${proxy.servers.join(', ')}` : `tools: ${tools.join(', ') || 'none'}`,
    ],
  )
  return table(['MCP', 'SSE', 'CONFIGURATION', 'TENANT', 'ACCESS', 'BEHIND IT'], rows)
}
