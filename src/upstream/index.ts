/** A message → a proxied MCP server over stdio, SSE or streamable HTTP; the bridges between protocol revisions. */

export { type Client, type Handshake, openClient } from './client.ts'
export { compileDefinition, type Definition, type Resolved } from './definition.ts'
export { createProxy } from './proxy.ts'
export type { McpProxy, ProxyContext, ProxyStatus } from './types.ts'
