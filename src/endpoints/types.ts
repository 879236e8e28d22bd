import {
  type Env,
  type Limits,
  type McpServer,
  type Path,
  qualifiedName,
  type ReadConfiguration,
  type TenantSettings,
} from '../config/index.ts'
import type { Vault } from '../credentials/oauth/vault.ts'
import type { FindingCode, Range } from '../findings/index.ts'
import type { Logger } from '../telemetry/log.ts'

export type Status = 'ok' | 'warning' | 'failed' | 'skipped'

/** A checked step; the steps after a failed one are skipped. */
export interface Step {
  name:
    | 'command'
    | 'proxy'
    | 'name'
    | 'connection'
    | 'TLS'
    | 'token'
    | 'HTTP'
    | 'handshake'
    | 'tools'
    | 'call'
  status: Status
  /** A clause without secrets. */
  detail: string
  /** An instruction. */
  hint?: string
  /** Code of the finding, unless `ok`. */
  code?: FindingCode
  /** Whether a retry may succeed. */
  transient?: boolean
}

/** A tool or MCP server that uses the endpoint. */
export interface User {
  file: string
  configuration: string
  /** Name of the tool or MCP server. */
  name: string
  /** Range of its `endpoint`, `url` or `command`. */
  range?: Range
}

/** The result of one check: an origin for all its tools, an MCP server, or a tool call. */
export interface EndpointCheck {
  type: McpServer['type'] | 'http' | 'call'
  /** The origin; for a process the command; for `call` the tool. */
  endpoint: string
  /** The worst of its steps. */
  status: Status
  steps: Step[]
  usedBy: User[]
  attempts: number
  /** Milliseconds of the last attempt. */
  ms: number
}

export interface CheckEndpointsOptions {
  env: Env
  /** The tenants of the settings, whose files read only their own variables. Absent: there are none. */
  tenants?: readonly TenantSettings[] | undefined
  limits: Limits
  log: Logger
  version: string
  /** Milliseconds for each check. Default 10,000; for a process its `startupTimeout`. */
  timeout?: number
  /** Retries after a transient failure. Default 1. */
  retries?: number
  /** Concurrent checks. Default 8. */
  concurrency?: number
  /** Whether stdio servers are started. Default false: only the command is looked up. */
  start?: boolean
  /** Names of tools that are really called, with sample arguments. */
  call?: readonly string[]
  /** Logins of the gateway; absent: there are none. */
  vault?: Vault | undefined
  /** Ends every check. */
  signal?: AbortSignal
  onProgress?: (done: number, total: number, endpoint: string) => void
}

/** One attempt of a check. */
export interface Run {
  /** Results so far. */
  steps: Step[]
  /** Milliseconds, for messages: the signal enforces it. */
  timeout: number
  signal: AbortSignal
}

/** Something to check. */
export interface Target {
  type: EndpointCheck['type']
  endpoint: string
  users: User[]
  /** Milliseconds for one attempt. */
  timeout: number
  /** Adds its results to the steps. */
  run(run: Run): Promise<void>
}

export type Read = ReadConfiguration & { configuration: NonNullable<ReadConfiguration['configuration']> }

export const DEFAULTS = { timeout: 10_000, retries: 1, concurrency: 8 } as const

/** The tool or MCP server at a path, as a user of an endpoint. */
export function userOf(read: Read, name: string, path: Path): User {
  const range = read.locate(path) ?? read.locate.key(path)
  return { file: read.file, configuration: qualifiedName(read.configuration), name, ...(range && { range }) }
}

/** How to correct `credentials` that fail. */
export function credentialsHint({ name, credentials }: Pick<McpServer, 'name' | 'credentials'>): string {
  return credentials?.type === 'oauth'
    ? 'If there is a login, name the settings that have its `vault` by --settings'
    : `Correct \`credentials\` of \`${name}\``
}

/** A failed step. @param hint an instruction */
export function failed(
  name: Step['name'],
  code: FindingCode,
  detail: string,
  hint?: string,
): Step & { code: FindingCode } {
  return { name, status: 'failed', detail, ...(hint !== undefined && { hint }), code }
}
