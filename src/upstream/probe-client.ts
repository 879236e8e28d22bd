import type { McpServer } from '../config/model.ts'
import type { JsonObject } from '../json/index.ts'
import { type CancelSignal, Fault, isObject, STATELESS_REVISIONS } from '../mcp/index.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  LOG_LEVEL,
  metaOf,
  PROTOCOL_VERSION,
  SERVER_INFO,
} from '../mcp/meta.ts'
import type { Protocol } from './bridge/probe.ts'
import { compileDefinition, type Resolved } from './definition.ts'
import { UpstreamServer } from './pool/server.ts'
import { handshakeRefused, type Request } from './rpc/link.ts'
import type { UpstreamContext } from './upstream.ts'

/** A client of one MCP server, of whatever revision. It holds connections and processes: close it. */
export interface Client {
  /** Which protocol the server speaks, or why it cannot be asked. */
  protocol(): Promise<Protocol | Fault>
  /** Who the server says it is, in the newest revision that both speak; undefined when it was cancelled. */
  handshake(options: RequestOptions): Promise<Handshake | Fault | undefined>
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

export interface Handshake {
  protocol: Protocol
  /** Such as `2025-11-25`. */
  revision: string
  /** Name and version; absent when it does not say. */
  server?: string
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
  const made = compiled.resolve({ headers: {}, query: () => ({}) })
  if (made instanceof Fault) throw new Error(made.message)
  const resolved: Resolved = made
  const upstream = new UpstreamServer(compiled, context, () => [])
  let ids = 0

  return {
    protocol: async () => upstream.probe.of(resolved, { _meta: ownMeta() }),
    async handshake(options) {
      const call = callOf('server/discover', {}, options)
      const protocol = await upstream.probe.of(resolved, call.message.params)
      if (protocol instanceof Fault) return protocol
      if (protocol === 'session') {
        const result = await upstream.handshake(call)
        if (result instanceof Fault) return result
        return { protocol, revision: String(result.protocolVersion), ...named(result.serverInfo) }
      }
      const answer = await upstream.bridge(protocol).request(call)
      if (!answer || answer instanceof Fault) return answer as Fault | undefined
      const { error, result } = answer
      if (isObject(error)) return handshakeRefused(server.name, answer)
      return { protocol, revision: STATELESS_REVISIONS[0], ...named(metaOf(result)[SERVER_INFO]) }
    },
    async request(method, given, options) {
      const call = callOf(method, given, options)
      const stateless = await upstream.stateless(resolved, call.message.params)
      return stateless instanceof Fault ? stateless : stateless.request(call)
    },
    close: () => upstream.close(),
  }

  function callOf(method: string, given: JsonObject, { onMessage = () => {}, signal }: RequestOptions) {
    const id = ++ids
    const params = { ...given, _meta: { ...metaOf(given), ...ownMeta() } }
    const raw = { jsonrpc: '2.0', id, method, params }
    const message: Request = { kind: 'request', id, method, params, raw }
    return { message, headers: {}, caller: undefined, resolved, onMessage, signal }
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

/** `name version`, as far as the server tells. */
function named(info: unknown): { server?: string } {
  if (!isObject(info) || typeof info.name !== 'string') return {}
  return { server: typeof info.version === 'string' ? `${info.name} ${info.version}` : info.name }
}
