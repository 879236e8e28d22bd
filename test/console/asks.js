// An MCP server on standard input that asks for a name.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'

const server = new McpServer({ name: 'asks', version: '1' })
server.registerTool('greet', { description: 'Greets a person' }, async () => {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
  const { action, content } = await server.server.elicitInput({ message: 'Who are you?', requestedSchema })
  return { content: [{ type: 'text', text: action === 'accept' ? `Hello ${content.name}` : action }] }
})
await server.connect(new StdioServerTransport())
