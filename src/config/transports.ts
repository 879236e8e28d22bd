import type { JsonObject } from '../json/index.ts'
import type { McpServer } from './model.ts'

/** The properties of one `type` of MCP servers. */
export interface Transport {
  /** The key of the server's address. */
  address: 'command' | 'url'
  /** The keys that have an effect for some types only. */
  keys: readonly (keyof McpServer)[]
  /** Whether the gateway starts the server as a process, which tenants may not do unless the settings allow it. */
  startsProcess: boolean
  /** How messages travel: as lines of one connection, as events of one stream, or by an HTTP request for each. */
  messages: 'lines' | 'events' | 'requests'
  /** `network.transport` of OpenTelemetry. */
  network: 'pipe' | 'tcp'
  /** The default of `maxSessions`. */
  maxSessions: number
  /** The usual end of the path of `url`. */
  pathEnd?: string
}

const HTTP = { address: 'url', startsProcess: false, network: 'tcp', maxSessions: 100_000 } as const
const HTTP_KEYS = ['url', 'headers', 'tls', 'proxy'] as const

/** The transports, by the `type` of an MCP server; the first whose address is given is the likely one. */
export const TRANSPORTS: Readonly<Record<McpServer['type'], Transport>> = {
  stdio: {
    address: 'command',
    keys: ['command', 'args', 'env'],
    startsProcess: true,
    messages: 'lines',
    network: 'pipe',
    maxSessions: 100,
  },
  'streamable-http': {
    ...HTTP,
    keys: [...HTTP_KEYS, 'retry', 'breaker'],
    messages: 'requests',
    pathEnd: '/mcp',
  },
  // Its one stream has a back-off of its own.
  sse: { ...HTTP, keys: HTTP_KEYS, messages: 'events', pathEnd: '/sse' },
}

/** The type that the keys of a server without one imply. */
export function likelyType(server: JsonObject): string {
  const fitting = Object.entries(TRANSPORTS).filter(([, { address }]) => server[address])
  const byPath = fitting.find(([, { pathEnd }]) => pathEnd && String(server.url).endsWith(pathEnd))
  return (byPath ?? fitting[0])?.[0] ?? 'stdio'
}
