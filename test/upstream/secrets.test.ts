import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { maskOf, streamMaskOf } from '../../src/tools/mask.ts'
import { listening } from '../support/listening.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { open, proxied } from './harness.ts'

/** A streamable HTTP server whose tools repeat what it was sent: whole, in an error, or in a stream of single bytes. */
async function repeating(t: TestContext): Promise<string> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { id, method, params }: Loose = text ? JSON.parse(text) : {}
    if (request.method !== 'POST') return response.writeHead(405).end()
    if (id === undefined) return response.writeHead(202).end()
    const said = `${request.headers.authorization} ${request.url} ${request.headers['x-caller']}`
    if (params?.name === 'error') {
      response.writeHead(200, { 'content-type': 'application/json' })
      return response.end(
        JSON.stringify({ jsonrpc: '2.0', id, error: { code: 1, message: said, data: [said] } }),
      )
    }
    const result =
      method === 'initialize'
        ? {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 's', version: '1' },
            instructions: said,
          }
        : { content: [{ type: 'text', text: said }] }
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result })
    if (params?.name !== 'stream')
      return response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const byte of Buffer.from(`data: ${answer}\n\n`)) {
      response.write(Buffer.from([byte]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    return response.end()
  })
  const port = await listening(t, server)
  return `http://127.0.0.1:${port}/mcp`
}

test('a streamable HTTP server does not pass on what the gateway gave it', { timeout: 60_000 }, async (t) => {
  const url = await repeating(t)
  const env = { SERVER_TOKEN: 'topsecret-123' }
  const headers = {
    Authorization: 'Bearer {{env "SERVER_TOKEN"}}',
    'X-Caller': '{{index .Request.Headers "X-Caller"}}',
  }
  const server = { type: 'streamable-http', url: `${url}?api_key=in-the-url-9`, headers }
  for (const list of [false, true]) {
    const { url: front } = await proxied(t, [server], { env, list })
    const client = await open(front, { 'x-caller': 'of-the-caller' })
    assert.doesNotMatch(JSON.stringify(client.initialized), /topsecret|in-the-url/)
    for (const tool of ['whole', 'error', 'stream']) {
      const all = JSON.stringify(await client.all('tools/call', { name: list ? `s1__${tool}` : tool }))
      assert.doesNotMatch(all, /topsecret|in-the-url/)
      if (!list) assert.match(all, /"\*\*\* \/mcp\?api_key=\*\*\* of-the-caller"/, tool)
    }
  }
})

/** A child that repeats its environment in answers, on standard error, and in a line that is no message. */
const CHILD = `
const said = process.env.API_KEY + ' ' + process.env.MODE + ' ' + process.argv[1]
process.stderr.write('debug ' + said + '\\n')
process.stdout.write('banner ' + said + '\\n')
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const result = method === 'initialize'
    ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
    : { content: [{ type: 'text', text: said }] }
  const error = params && params.name === 'error' ? { code: 1, message: said } : undefined
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(error ? { error } : { result }) }))
})`

test('nor does a child, in its answers or in the log', { timeout: 60_000 }, async (t) => {
  const server = {
    type: 'stdio',
    command: process.execPath,
    args: ['-e', CHILD, '${ARGUMENT_TOKEN}'],
    env: { API_KEY: 'topsecret-123', MODE: 'production' },
  }
  const env = { ...(process.env as Record<string, string>), ARGUMENT_TOKEN: 'by-argument-77' }
  const { url, logged } = await proxied(t, [server], { env })
  const client = await open(url)
  assert.equal(await client.call('any'), '*** production ***')
  assert.equal(await client.call('error'), 'error: *** production ***')
  await until(() => logged.some(({ msg }) => /standard error/.test(msg)))
  const lines = JSON.stringify(logged)
  assert.match(lines, /debug \*\*\* production \*\*\*/)
  assert.match(lines, /banner \*\*\* production \*\*\*/)
  assert.doesNotMatch(lines, /topsecret|by-argument/)
})

test('a stream is masked as a whole text is, wherever it is cut', () => {
  const secrets = ['topsecret', 'toptoptop-1', 'sécrêt-99']
  const text = 'to top topsecret toptopsecret toptoptoptop-1 sécrêt-99 sécrêt-98 "é" topsecre'
  const whole = maskOf(secrets)(text, true)
  assert.equal(whole, 'to top *** top*** top*** *** sécrêt-98 "é" topsecre')
  const bytes = Buffer.from(text)
  const start = streamMaskOf(secrets)
  for (let a = 0; a <= bytes.length; a++)
    for (let b = a; b <= bytes.length; b += 3) {
      const mask = start()
      const pieces = [bytes.subarray(0, a), bytes.subarray(a, b), bytes.subarray(b)].map((piece) =>
        mask.push(piece),
      )
      assert.equal(Buffer.concat([...pieces, mask.end()]).toString(), whole)
    }
})
