import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { getRequestListener } from '@hono/node-server'
import { gatewayOver } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { ROOT, temporaryFolder } from '../support/process.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024

test('a browser that does not read holds at most 1 MiB of 30 MB, and gets the answer', {
  timeout: 60_000,
}, async (t) => {
  const folder = temporaryFolder(t)
  const server = {
    name: 'odd',
    type: 'stdio',
    command: process.execPath,
    args: [join(ROOT, 'test/console/odd.js')],
  }
  const configuration = { name: 'odd', routers: [{ server: 'odd', prefix: '/odd' }], mcpServers: [server] }
  writeFileSync(join(folder, 'odd.yaml'), JSON.stringify(configuration))
  const { gateway } = await gatewayOver(t, [folder])
  const http = createServer(getRequestListener(gateway.app.fetch))
  const held: Socket[] = []
  http.on('connection', (socket) => held.push(socket))
  const port = await listening(t, http)
  const browser = connect(port, '127.0.0.1')
  t.after(() => browser.destroy())
  browser.pause()
  const body = JSON.stringify({ prefix: '/odd', tool: 'flood', arguments: {} })
  const head = [
    'POST /_console/call HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    'connection: close',
  ]
  browser.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  await until(async () => {
    const [recorded] = await gateway.console.source.recorded()
    return recorded!.calls.some(({ name }) => name === 'flood')
  })
  assert.ok(held[0]!.writableLength <= MIB, `${held[0]!.writableLength} bytes wait`)
  let size = 0
  let last = ''
  for await (const piece of browser.setEncoding('latin1')) {
    size += piece.length
    last = (last + piece).slice(-10_000)
  }
  // The system holds some MB of each connection itself.
  assert.ok(size < 15 * MIB, `${size} bytes`)
  assert.match(last, /"answer":\{.*"result"/)
})
