import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { serveExamples } from '../support/examples.ts'
import { freePort, plantgw, ROOT, run, temporaryFolder } from '../support/process.ts'

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

/** Where `.ci/services` installs clients. */
const INSTALLED = join(ROOT, 'node_modules/.cache/plantgw-clients/node_modules/.bin')
const TOKEN = 'a-very-long-token-of-ann'

const service = (name: string, router: object = {}) => ({
  name,
  routers: [{ server: 's', prefix: `/${name}`, ...router }],
  servers: [{ name: 's' }],
  tools: [{ name: 'hello', method: 'GET', endpoint: 'http://127.0.0.1:1/', description: 'Says hello' }],
})
const tokens = [{ token: TOKEN, caller: 'ann' }]

/** What a client says of a server that it has connected to. */
const CLIENTS = [
  { client: 'claude-code', command: 'claude', says: (name: string) => new RegExp(`${name}: .*✔ Connected`) },
  { client: 'gemini', command: 'gemini', says: (name: string) => new RegExp(`✓ ${name}: .*Connected`) },
]

for (const { client, command, says } of CLIENTS) {
  const path = join(INSTALLED, command)
  const skip = existsSync(path) ? false : `no ${command} on this machine`
  test(`${command} connects by the file that is written for it`, { skip }, async (t) => {
    const cwd = temporaryFolder(t)
    const env = { HOME: join(cwd, 'home'), PLANTGW_TOKEN: TOKEN, GEMINI_CLI_TRUST_WORKSPACE: 'true' }
    mkdirSync(env.HOME)
    mkdirSync(join(cwd, 'configs'))
    const write = (name: string, value: object) => writeFileSync(join(cwd, name), JSON.stringify(value))
    write('configs/shop.json', service('shop'))
    write('configs/desk.json', service('desk', { auth: { type: 'bearer', tokens } }))
    write('plantgw.yaml', { storage: { type: 'directory', path: 'configs' } })
    const port = String(await freePort())
    await plantgw(t, ['serve', '--port', port], { cwd }).until(/Try it:/)
    const url = `http://127.0.0.1:${port}`
    for (const more of [['/shop'], ['/desk', '--token-env', 'PLANTGW_TOKEN']]) {
      const written = await run(t, ['connect', client, '--url', url, ...more], { cwd, env })
      assert.equal(written.code, 0, written.stderr)
    }
    const { stdout, stderr } = await promisify(execFile)(path, ['mcp', 'list'], {
      cwd,
      env: { ...process.env, ...env },
      timeout: 120_000,
    })
    const shown = `${stdout}${stderr}`.replace(/\x1b\[[\d;]*m/g, '')
    for (const name of ['shop', 'desk']) assert.match(shown, says(name))
  })
}
