/** A message → a proxied MCP server over stdio, SSE or streamable HTTP; the bridges between protocol revisions. */

export { mergeInstructions } from './aggregate/aggregate.ts'
export {
  type CreateResilience,
  createProxy,
  type McpProxy,
  type PinRecord,
  type ProxyContext,
  type ProxyStatus,
  type Together,
} from './backend/proxy.ts'
export { compileDefinition, type Definition, type Resolved } from './definition.ts'
export { mirrored } from './rpc/stateless-client.ts'
export { handshakeRefused } from './rpc/upstream-session.ts'
export { type DeclaredList, UpstreamServer } from './server.ts'
export { type ListChange, type OtherWorkers, SharedServers } from './shared-servers.ts'
export type { ServerChildren } from './upstream.ts'
export { digestOf, type Pinned } from './view/pins.ts'
export { repairedList } from './view/repaired.ts'
