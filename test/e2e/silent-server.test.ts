import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, plantgw, temporaryFolder } from '../support/process.ts'
import { mute } from '../support/silent.ts'

const LIMIT = { timeout: 60_000 }

const tools = (name: string) => ({
  name,
  routers: [{ server: 's', prefix: `/${name}` }],
  servers: [{ name: 's', description: 'A test' }],
  tools: [{ name: 'now', description: 'A tool', method: 'GET', endpoint: 'http://127.0.0.1:9/now' }],
})

/** Serves these configurations; `write` changes one of them. */
async function serve(t: TestContext, configurations: { name: string }[]) {
  const folder = temporaryFolder(t)
  const write = (one: { name: string }) =>
    writeFileSync(join(folder, `${one.name}.yaml`), JSON.stringify(one))
  for (const one of configurations) write(one)
  const port = await freePort()
  const gateway = plantgw(t, ['serve', folder, '--port', String(port), '--log-format', 'json'])
  const base = `http://127.0.0.1:${port}`
  const post = async (path: string, method: string, params: object) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const answer = await fetch(base + path, { method: 'POST', headers, body })
    return { status: answer.status, text: await answer.text() }
  }
  return { ...gateway, base, write, post }
}

const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }

test('a server that says nothing holds up neither the start nor a reload', LIMIT, async (t) => {
  const first = await mute(t, 'mute', { startupTimeout: '10m' })
  const gateway = await serve(t, [tools('a'), first.configuration])
  await gateway.until(/plantgw serves 2 prefixes/)
  const child = await first.started()
  const shown = (await (await fetch(`${gateway.base}/_status`)).json()) as {
    prefixes: { prefix: string; upstream?: { state: string } }[]
  }
  assert.equal(shown.prefixes.find(({ prefix }) => prefix === '/mute')?.upstream?.state, 'starting')
  const second = await mute(t, 'other', { startupTimeout: '10m' })
  gateway.write(second.configuration)
  const reload = await fetch(`${gateway.base}/_reload`, { method: 'POST' })
  assert.deepEqual([reload.status, ((await reload.json()) as { added: string[] }).added], [200, ['other']])
  await second.started()
  gateway.write(tools('later'))
  gateway.child.kill('SIGHUP')
  await gateway.until(/"trigger":"SIGHUP".*"added":\["later"\]/)
  assert.equal((await gateway.post('/later/mcp', 'initialize', HELLO)).status, 200)
  assert.ok(!child.closed)
})

test('what does not start is logged and shown, and its calls say why', LIMIT, async (t) => {
  const { configuration } = await mute(t, 'mute', { startupTimeout: '1s' })
  const gateway = await serve(t, [configuration])
  await gateway.until(/plantgw serves 1 prefix/)
  const { text } = await gateway.post('/mute/mcp', 'initialize', HELLO)
  assert.match(text, /No response from the server s for 1 s/)
  await gateway.until(
    /"server":"s","reason":"No response from the server s for 1 s.*MCP server did not start/,
  )
  const status = await (await fetch(`${gateway.base}/_status`)).text()
  assert.match(status, /"state":"failing".*"faults":\["No response from the server s for 1 s/)
})
