/** A message → a proxied MCP server over stdio, SSE or streamable HTTP; the bridges between protocol revisions. */

export { type Client, openClient } from './client.ts'
export { compileDefinition, type Definition } from './definition.ts'
export { createProxy, type McpProxy, type ProxyContext } from './proxy.ts'
