// A stdio MCP server of 2025-11-25 with one tool, which says its process id after a turn of the event loop.
import { createInterface } from 'node:readline'

const answers = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'pid', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: String(process.pid) }] }),
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const told = answer ? { result: answer() } : { error: { code: -32601, message: `no ${method}` } }
  setImmediate(() => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...told })))
})
