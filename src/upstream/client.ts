import type { McpServer } from '../config/model.ts'
import type { JsonObject } from '../json/index.ts'
import { type CancelSignal, STATELESS_REVISIONS } from '../mcp/index.ts'
import { compileDefinition } from './definition.ts'
import type { Era } from './era.ts'
import type { Fault, Request } from './link.ts'
import { createMember } from './member.ts'
import { CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, metaOf, PROTOCOL_VERSION } from './meta.ts'
import type { UpstreamContext } from './upstream.ts'

/** A client of one MCP server, of whatever revision. It holds connections and processes: close it. */
export interface Client {
  /** `modern` for 2026-07-28, else `session`; or why the server cannot be asked. */
  era(): Promise<Era | Fault>
  /**
   * Sends a request as 2026-07-28 has it; a server of sessions gets it bridged. Resolves with the JSON-RPC response;
   * with undefined when it was cancelled.
   */
  request(
    method: string,
    params: JsonObject,
    options: RequestOptions,
  ): Promise<JsonObject | Fault | undefined>
  close(): Promise<void>
}

export interface RequestOptions {
  /** Takes the notifications that come before the answer. */
  onMessage?(notification: JsonObject): void
  signal: CancelSignal
}

export interface ClientContext extends UpstreamContext {
  version: string
  /** What of the server's questions the client answers. */
  capabilities: JsonObject
  /** The lowest level of log messages that are wanted. */
  logLevel?: string
}

/** What a server's definition leaves out, as the configuration's defaults are. */
const DEFAULTS = {
  args: [],
  env: {},
  headers: {},
  policy: 'onDemand',
  preinstalled: false,
  isolation: 'session',
  startupTimeout: 30_000,
  idleTimeout: 1_800_000,
  maxSessions: 10,
  blockedTools: [],
  toolOverrides: {},
} as const

/**
 * Opens a client of a server; nothing is connected before the first request.
 * @throws Error with a sentence when the definition is wrong
 */
export function openClient(
  server: Pick<McpServer, 'type' | 'name'> & Partial<McpServer>,
  context: ClientContext,
): Client {
  const definition = { ...DEFAULTS, args: [], blockedTools: [], ...server }
  const { definition: compiled, problems } = compileDefinition(definition, [], context.env)
  const [problem] = problems
  if (problem) throw new Error(problem.message)
  const resolved = compiled.resolve({ headers: {}, query: () => ({}) })
  if ('fault' in resolved) throw new Error(resolved.fault)
  const member = createMember(compiled, context, () => false)
  let ids = 0

  return {
    era: async () => member.eras.of(resolved),
    async request(method, given, { onMessage = () => {}, signal }) {
      const id = ++ids
      const params = { ...given, _meta: { ...metaOf(given), ...ownMeta() } }
      const raw = { jsonrpc: '2.0', id, method, params }
      const message: Request = { kind: 'request', id, method, params, raw }
      const stateless = await member.stateless(resolved)
      if ('fault' in stateless) return stateless
      return stateless.request({ message, headers: {}, caller: undefined, resolved, onMessage, signal })
    },
    close: () => member.close(),
  }

  function ownMeta(): JsonObject {
    return {
      [PROTOCOL_VERSION]: STATELESS_REVISIONS[0],
      [CLIENT_INFO]: { name: 'plantgw', version: context.version },
      [CLIENT_CAPABILITIES]: context.capabilities,
      ...(context.logLevel !== undefined && { [LOG_LEVEL]: context.logLevel }),
    }
  }
}
