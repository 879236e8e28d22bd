import { type Env, type Limits, type Path, qualifiedName, type ReadConfiguration } from '../config/index.ts'
import type { FindingCode, Range } from '../findings/index.ts'
import type { Logger } from '../telemetry/log.ts'

export type Status = 'ok' | 'warning' | 'failed' | 'skipped'

/** One thing that was looked at, in order; after one that failed nothing more is. */
export interface Step {
  name: 'command' | 'proxy' | 'name' | 'connection' | 'TLS' | 'HTTP' | 'handshake' | 'tools' | 'call'
  status: Status
  /** A clause of what was found, without secrets. */
  detail: string
  /** What to do, as an instruction. */
  hint?: string
  /** Of the finding, when it is not `ok`. */
  code?: FindingCode
  /** Whether another try may come out better. */
  transient?: boolean
}

/** A tool or MCP server that needs what was checked. */
export interface User {
  file: string
  configuration: string
  /** Of the tool, or of the MCP server. */
  name: string
  /** Of its `endpoint`, `url` or `command`. */
  range?: Range
}

/** What one check found: of an origin for all tools that call it, of one MCP server, or of one tool's call. */
export interface EndpointCheck {
  type: 'http' | 'call' | 'stdio' | 'sse' | 'streamable-http'
  /** The origin; of `stdio` the command; of `call` the tool. */
  endpoint: string
  /** The worst of its steps. */
  status: Status
  steps: Step[]
  usedBy: User[]
  /** Tries it took. */
  attempts: number
  /** Milliseconds of the last try. */
  ms: number
}

export interface CheckEndpointsOptions {
  env: Env
  limits: Limits
  log: Logger
  version: string
  /** Milliseconds for each check. Default 10,000; for a process its own `startupTimeout`. */
  timeout?: number
  /** Further tries after a failure that may pass. Default 1. */
  retries?: number
  /** Checks at once. Default 8. */
  concurrency?: number
  /** Whether servers over stdio are started. Default false: only their command is looked for. */
  start?: boolean
  /** Names of tools that are really called, with sample arguments. */
  call?: readonly string[]
  /** Ends every check. */
  signal?: AbortSignal
  onProgress?: (done: number, total: number, endpoint: string) => void
}

/** One try to check something. */
export interface Run {
  /** What was found so far. */
  steps: Step[]
  /** Milliseconds, for messages: the signal ends what takes longer. */
  timeout: number
  signal: AbortSignal
}

/** One thing to check. */
export interface Target {
  type: EndpointCheck['type']
  endpoint: string
  users: User[]
  /** Milliseconds for one try. */
  timeout: number
  /** Adds what it finds to the steps. */
  run(run: Run): Promise<void>
}

export type Read = ReadConfiguration & { configuration: NonNullable<ReadConfiguration['configuration']> }

export const DEFAULTS = { timeout: 10_000, retries: 1, concurrency: 8 } as const

/** The tool or MCP server at a path of a configuration, as one that needs an endpoint. */
export function userOf(read: Read, name: string, path: Path): User {
  const range = read.locate(path) ?? read.locate.key(path)
  return { file: read.file, configuration: qualifiedName(read.configuration), name, ...(range && { range }) }
}

/** A step that failed. @param hint what to do, as an instruction */
export function failed(
  name: Step['name'],
  code: FindingCode,
  detail: string,
  hint?: string,
): Step & { code: FindingCode } {
  return { name, status: 'failed', detail, ...(hint !== undefined && { hint }), code }
}
