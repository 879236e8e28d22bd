import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { serveExamples } from '../support/examples.ts'

/** What the tests do with any client. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(call: {
    name: string
    arguments: Record<string, unknown>
  }): Promise<{ content?: unknown; isError?: boolean | undefined }>
}

const info = { name: 'test', version: '1.0.0' }

/** Creates, lists and deletes plants through MCP, and reads the store over HTTP after each step. */
async function gardening(client: AnyClient, base: string): Promise<void> {
  const text = async (name: string, args: Record<string, unknown> = {}) => {
    const result = await client.callTool({ name, arguments: args })
    assert.ok(!result.isError, JSON.stringify(result))
    return (result.content as { text: string }[])[0]!.text
  }
  const stored = async () => {
    const response = await fetch(`${base}/plants`, { headers: { authorization: 'Bearer demo-token' } })
    return response.json()
  }
  const { tools } = await client.listTools()
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['listPlants', 'createPlant', 'deletePlant'],
  )
  const plant = { name: 'Fern "the big"', tag: 'shade & wet' }
  assert.deepEqual(JSON.parse(await text('createPlant', { id: 42, ...plant })), plant)
  assert.deepEqual(JSON.parse(await text('createPlant', { id: -7, name: 'Äpfel' })), { name: 'Äpfel' })
  assert.deepEqual(await stored(), [plant, { name: 'Äpfel' }])
  assert.deepEqual(JSON.parse(await text('listPlants')), [plant, { name: 'Äpfel' }])
  assert.equal(await text('deletePlant', { id: 42 }), 'Deleted plant 42.')
  assert.deepEqual(await stored(), [{ name: 'Äpfel' }])
  const again = await client.callTool({ name: 'deletePlant', arguments: { id: 42 } })
  assert.equal(again.isError, true)
  assert.match(JSON.stringify(again.content), /404/)
  await text('deletePlant', { id: -7 })
}

test('the 1.x SDK client, streamable HTTP', async (t) => {
  const { base } = await serveExamples(t)
  const transport = new StreamableHTTPClientTransport(new URL(`${base}/gateway/plants/mcp`))
  const client = new Client(info)
  await client.connect(transport as never)
  assert.equal(client.getServerVersion()?.name, 'plants')
  await gardening(client as AnyClient, base)
  await transport.terminateSession()
  await client.close()
})

test('the 1.x SDK client, HTTP with SSE', async (t) => {
  const { base } = await serveExamples(t)
  const client = new Client(info)
  await client.connect(new SSEClientTransport(new URL(`${base}/gateway/plants/sse`)) as never)
  await gardening(client as AnyClient, base)
  await client.close()
})

for (const revision of ['2026-07-28', 'legacy'] as const)
  test(`the 2.x SDK client, ${revision}`, async (t) => {
    const { base } = await serveExamples(t)
    const mode = revision === 'legacy' ? 'legacy' : { pin: revision }
    const client = new ModernClient(info, { versionNegotiation: { mode } })
    await client.connect(new ModernHttp(new URL(`${base}/gateway/plants/mcp`)))
    await gardening(client as AnyClient, base)
    await client.close()
  })
