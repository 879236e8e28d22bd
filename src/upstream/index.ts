/** A message → a proxied MCP server over stdio, SSE or streamable HTTP; the bridges between protocol revisions. */

export { createProxy } from './backend/proxy.ts'
export { compileDefinition, type Definition, type Resolved } from './definition.ts'
export { type Client, type Handshake, openClient } from './probe-client.ts'
export type { McpProxy, ProxyContext, ProxyStatus } from './types.ts'
