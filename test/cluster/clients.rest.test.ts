import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { progressOf } from '../support/progress.ts'
import { type Replicas, serveReplicas, toolsFile } from './harness.ts'

/** Real clients behind a load balancer that sends every request to the next of two replicas. */

interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(
    call: { name: string; arguments: Record<string, unknown> },
    ...rest: never[]
  ): Promise<{ content?: unknown; isError?: boolean | undefined }>
}

const info = { name: 'test', version: '1.0.0' }
const CALLS = 6

async function serve(t: Parameters<typeof serveReplicas>[0]): Promise<Replicas> {
  return serveReplicas(t, {
    files: { tools: await toolsFile(t) },
    upstreams: {
      http: { type: 'streamable-http', url: await startEverything(t, 'http', 'session') },
      sse: { type: 'sse', url: await startEverything(t, 'sse', 'session') },
      stdio: { type: 'stdio', ...everythingStdio('session') },
      modern: { type: 'stdio', ...everythingStdio('modern') },
    },
  })
}

const textOf = (result: { content?: unknown }) => (result.content as { text: string }[])[0]!.text

/** Calls that come back in their own words, one after the other and at once. */
async function converse(client: AnyClient, name: string): Promise<void> {
  const { tools } = await client.listTools()
  assert.ok(tools.length > 0)
  const call = async (i: number) => {
    const tool = name === 'tools' ? 'echo' : 'test_simple_text'
    const given = name === 'tools' ? { text: `n${i}` } : {}
    const wanted = name === 'tools' ? `echo /?text=n${i}` : 'This is a simple text response for testing.'
    assert.equal(textOf(await client.callTool({ name: tool, arguments: given })), wanted)
  }
  for (let i = 0; i < CALLS; i++) await call(i)
  await Promise.all(Array.from({ length: CALLS }, (_, i) => call(i)))
}

/** What passes between server and client in the middle of a call. */
async function ask(client: AnyClient): Promise<void> {
  const heard = progressOf(client)
  for (let i = 0; i < 3; i++) {
    const onprogress = () => {}
    const progressing = { name: 'test_tool_with_progress', arguments: {} }
    // The first generation has the result's schema before the options.
    const rest = client instanceof Client ? [undefined, { onprogress }] : [{ onprogress }]
    await client.callTool(progressing, ...(rest as never[]))
    assert.deepEqual(heard.splice(0), [0, 50, 100])
    const result = await client.callTool({ name: 'test_elicitation', arguments: { message: 'Who?' } })
    assert.match(textOf(result), /"username":"ann"/)
  }
}

function assertSpread({ balancer }: Replicas): void {
  for (const i of [0, 1]) assert.ok(balancer.went.filter((to) => to === `POST ${i}`).length > CALLS / 2)
}

const content = { username: 'ann', email: 'ann@example.com' }

test('real clients', async (t) => {
  const replicas = await serve(t)
  for (const name of ['tools', 'http', 'sse', 'stdio', 'modern'])
    await t.test(`the 1.x SDK client, streamable HTTP, ${name}`, async () => {
      replicas.balancer.went.length = 0
      const transport = new StreamableHTTPClientTransport(new URL(replicas.balancer.url(name)))
      const client = new Client(info, { capabilities: { elicitation: {} } })
      client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content }))
      await client.connect(transport as never)
      await converse(client as AnyClient, name)
      if (name !== 'tools') await ask(client as AnyClient)
      assertSpread(replicas)
      await transport.terminateSession()
      await client.close()
    })

  for (const name of ['tools', 'http', 'sse', 'stdio'])
    await t.test(`the 1.x SDK client, HTTP with SSE, ${name}`, async () => {
      replicas.balancer.went.length = 0
      const client = new Client(info, { capabilities: { elicitation: {} } })
      client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content }))
      await client.connect(new SSEClientTransport(new URL(replicas.balancer.url(name, 'sse'))) as never)
      await converse(client as AnyClient, name)
      if (name !== 'tools') await ask(client as AnyClient)
      assertSpread(replicas)
      await client.close()
    })

  for (const [revision, name] of [
    ['legacy', 'tools'],
    ['legacy', 'http'],
    ['legacy', 'stdio'],
    ['2026-07-28', 'tools'],
    ['2026-07-28', 'http'],
    ['2026-07-28', 'stdio'],
    ['2026-07-28', 'modern'],
  ] as const)
    await t.test(`the 2.x SDK client, ${revision}, ${name}`, async () => {
      replicas.balancer.went.length = 0
      const mode = revision === 'legacy' ? 'legacy' : { pin: revision }
      const client = new ModernClient(info, {
        versionNegotiation: { mode },
        capabilities: { elicitation: {} },
      })
      client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content }))
      await client.connect(new ModernHttp(new URL(replicas.balancer.url(name))))
      await converse(client as AnyClient, name)
      if (name !== 'tools') await ask(client as AnyClient)
      assertSpread(replicas)
      await client.close()
    })
})
