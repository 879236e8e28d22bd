// An MCP server on standard input that writes hostile lines to standard error, declares hostile names, and dies when told.

import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>\u001b[31m\u202eabc`
process.stderr.write(`${HOSTILE}\n${'x'.repeat(10_000_000)}\nthe last line\n`)
const server = new McpServer({ name: 'faulty', version: '1' })
const text = (value) => ({ content: [{ type: 'text', text: value }] })
server.registerTool('hostile', { description: HOSTILE + 'y'.repeat(100_000) }, async () => text(HOSTILE))
server.registerTool('die', { description: 'Ends the process' }, () => process.exit(3))
server.registerTool('huge', { description: 'Answers with 3 MB' }, async () => text('z'.repeat(3_000_000)))
server.registerPrompt(
  'greet',
  {
    description: 'Greets',
    argsSchema: {
      who: completable(z.string(), (typed) => ['Ada', 'Alan'].filter((one) => one.startsWith(typed))),
    },
  },
  ({ who }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello ${who}` } }] }),
)
server.registerResource(
  'note',
  new ResourceTemplate('note://{id}', { list: undefined }),
  {},
  async (uri) => ({
    contents: [{ uri: uri.href, text: HOSTILE }],
  }),
)
server.registerResource('first', 'note://first', {}, async (uri) => ({
  contents: [{ uri: uri.href, text: 'A note' }],
}))
await server.connect(new StdioServerTransport())
