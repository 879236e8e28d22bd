import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const SERVER = `
  const { existsSync, writeFileSync } = require('node:fs')
  const [, begun, go] = process.argv
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line)
    if (id === undefined) return
    const answer = (body) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
    if (method === 'initialize')
      return answer({
        result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'held', version: '1' } },
      })
    if (method !== 'tools/call') return answer({ error: { code: -32601, message: 'Method not found' } })
    writeFileSync(begun, '')
    const look = setInterval(() => {
      if (!existsSync(go)) return
      clearInterval(look)
      answer({ result: { content: [{ type: 'text', text: 'done' }] } })
    }, 5)
  })
`

/** A stdio server of 2025-11-25 whose tools answer once `release` was called; `folder` is its own. */
export function held(folder: string) {
  const [begun, go] = [join(folder, 'begun'), join(folder, 'go')] as const
  return {
    server: { type: 'stdio', command: process.execPath, args: ['-e', SERVER, begun, go] },
    begun: () => existsSync(begun),
    release: () => writeFileSync(go, ''),
  }
}
