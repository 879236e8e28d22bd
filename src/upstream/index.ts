/** A message → a proxied MCP server over stdio, SSE or streamable HTTP; the bridges between protocol revisions. */

export { mergeInstructions } from './aggregate.ts'
export {
  type CreateResilience,
  createProxy,
  type McpProxy,
  type PinRecord,
  type ProxyContext,
  type ProxyStatus,
  type Together,
} from './backend/proxy.ts'
export { mirrored } from './bridge/stateless.ts'
export { compileDefinition, type Definition, type Resolved } from './definition.ts'
export { digestOf, type Pinned } from './pins.ts'
export { type DeclaredList, UpstreamServer } from './pool/server.ts'
export { type ListChange, type OtherWorkers, SharedServers } from './pool/shared.ts'
export { repairedList } from './repaired.ts'
export { handshakeRefused } from './rpc/upstream-session.ts'
export type { ServerChildren } from './upstream.ts'
