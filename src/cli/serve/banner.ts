import type { Table } from '../../build/types.ts'
import type { Settings } from '../../config/index.ts'
import { table } from '../output.ts'

/** What `serve` prints when it is ready: what is served, where to point a client, and one line to try. */
export function banner({ routes }: Table, { host, plants, tls }: Settings, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  const base = `${tls ? 'https' : 'http'}://${name}:${port}`
  const lines = [`plantgw serves ${count(routes.size, 'prefix', 'prefixes')} on ${base}`, '']
  const servers: Record<string, object> = {}
  let open: string | undefined
  for (const { prefix, configuration, tools, proxy, authenticate } of routes.values()) {
    const url = `${base}${prefix}/mcp`
    const headers = authenticate && { headers: { Authorization: 'Bearer <token>' } }
    servers[uniqueName(configuration, prefix, servers)] = { type: 'http', url, ...headers }
    if (!authenticate) open ??= url
    const behind = proxy ? `MCP server: ${proxy.servers.join(', ')}` : `tools: ${tools.join(', ') || 'none'}`
    lines.push(`  ${prefix || '/'}  ${url}`, `    ${behind}`)
  }
  if (plants) lines.push('', `  plant store  ${base}${plants.basePath.replace(/(?<!\/)\/+$/, '')}/plants`)
  if (routes.size)
    lines.push('', 'Point an MCP client at it:', '', JSON.stringify({ mcpServers: servers }, null, 2))
  if (open) lines.push('', 'Try it:', '', `  ${tryLine(open)}`)
  return `${lines.join('\n')}\n`
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`
}

function uniqueName(configuration: string, prefix: string, taken: object): string {
  return configuration in taken ? `${configuration}${prefix.replaceAll('/', '-')}` : configuration
}

/** Lists the tools of an endpoint by the stateless revision, as that takes one request. */
function tryLine(url: string): string {
  const meta =
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{${meta}}}`
  return `curl -s ${url} -H 'Content-Type: application/json' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list' -d '${body}'`
}

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
