import type { Limits } from '../config/model.ts'
import type { Backend } from '../mcp/index.ts'
import type { Logger } from '../telemetry/log.ts'

export interface ProxyContext {
  /** The gateway's environment, of which children see very little. */
  env: Readonly<Record<string, string | undefined>>
  /** Of the process; a server's own go before them. */
  limits: Limits
  log: Logger
  /** For the log. */
  prefix: string
  tenant: string
  version: string
  /** Whether names of tools and prompts tell their server, as with a list of servers. */
  named: boolean
}

/** What a proxy holds at the moment. */
export interface ProxyStatus {
  /** Names of the servers. */
  servers: string[]
  /** `failing`: the last start or connection failed, and the next try waits; `idle`: nothing is open. */
  state: 'idle' | 'connected' | 'failing'
  /** Of clients. */
  sessions: number
  /** Connections and children held for them. */
  connections: number
  pids: number[]
  /** Why, when it is failing. */
  faults?: string[]
}

/** The backend of a router that names MCP servers. It holds processes and connections: close it. */
export interface McpProxy extends Backend {
  status(): ProxyStatus
  /** Starts what `policy` and `preinstalled` say; faults are sentences. */
  start(): Promise<string[]>
  /** Takes no new sessions; ends each when no call of it is under way, then closes. */
  retire(): Promise<void>
  /** Ends every session, connection and child; resolves when nothing is left. */
  close(): Promise<void>
}
