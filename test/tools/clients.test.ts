import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { stringify } from '../../src/json/index.ts'
import { compileAll, json, makeTool, upstream } from './harness.ts'

// Both SDKs hold structured content against the output schema of the tool; results must pass them.
const target = await upstream((response, { url }) => {
  if (url === '/error') return json(response, { code: 'broken' }, 500)
  if (url === '/wrong') return json(response, { id: 'text' })
  return json(response, url === '/list' ? [1, 2] : { id: 7 })
})
const object = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }
const { tools } = compileAll([
  makeTool({ name: 'good', endpoint: `${target.origin}/good`, outputSchema: object }),
  makeTool({
    name: 'list',
    endpoint: `${target.origin}/list`,
    outputSchema: { type: 'array', items: { type: 'integer' } },
  }),
  makeTool({ name: 'error', endpoint: `${target.origin}/error`, outputSchema: object }),
  makeTool({ name: 'wrong', endpoint: `${target.origin}/wrong`, outputSchema: object }),
  makeTool({ name: 'plain', endpoint: `${target.origin}/error` }),
])

type Message = { id?: number; method?: string; params?: { name: string; arguments?: object } }

/** A transport whose far side answers from the tools themselves. */
function transport() {
  const self = {
    onmessage: undefined as ((message: never) => void) | undefined,
    onclose: undefined as (() => void) | undefined,
    async start() {},
    async close() {
      self.onclose?.()
    },
    async send(message: Message) {
      if (message.id === undefined) return
      const result = await answer(message)
      self.onmessage?.(JSON.parse(stringify({ jsonrpc: '2.0', id: message.id, result })) as never)
    },
  }
  return self
}

async function answer({ method, params }: Message): Promise<unknown> {
  if (method === 'initialize')
    return {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'x', version: '1' },
    }
  if (method === 'tools/list') return { tools: tools.list() }
  const { name, arguments: args } = params!
  const call = { headers: {}, body: null, signal: new AbortController().signal }
  return (await tools.get(name)!.call(args, call)).result
}

const clients = {
  'the v1 SDK': new Client({ name: 'test', version: '1' }),
  'the 2.x SDK': new ModernClient({ name: 'test', version: '1' }),
}

for (const [name, client] of Object.entries(clients))
  test(`${name} takes every result of a tool with an output schema`, async () => {
    await client.connect(transport() as never)
    assert.equal((await client.listTools()).tools.length, 5)
    const call = async (tool: string) => {
      const result = await client.callTool({ name: tool, arguments: {} })
      return [result.isError === true, result.structuredContent]
    }
    assert.deepEqual(await call('good'), [false, { id: 7 }])
    assert.deepEqual(await call('list'), [false, { result: [1, 2] }])
    assert.deepEqual(await call('error'), [true, undefined])
    assert.deepEqual(await call('wrong'), [true, undefined])
    const [isError, details] = await call('plain')
    assert.equal(isError, true)
    assert.deepEqual((details as { body: unknown }).body, { code: 'broken' })
    await client.close()
  })
