import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { REVISIONS } from '../../src/mcp/protocol.ts'
import { repairedHandshake, repairedList } from '../../src/upstream/view/repaired.ts'
import type { Loose } from '../support/wire.ts'
import { answering } from './answering.ts'
import { modern, open, proxied } from './harness.ts'

const OBJECT = { type: 'object' }
/** A tool as a server declares it, and as clients see it; undefined: it is left out. */
const TOOLS: [given: Loose, seen: Loose | undefined][] = [
  [
    { name: 'a', inputSchema: OBJECT },
    { name: 'a', inputSchema: OBJECT },
  ],
  [{ name: 'a' }, { name: 'a', inputSchema: OBJECT }],
  [
    { name: 'a', inputSchema: null },
    { name: 'a', inputSchema: OBJECT },
  ],
  [
    { name: 'a', inputSchema: [] },
    { name: 'a', inputSchema: OBJECT },
  ],
  [
    { name: 'a', inputSchema: {} },
    { name: 'a', inputSchema: OBJECT },
  ],
  [{ name: 'a', inputSchema: { type: 'string' } }, undefined],
  [{ name: 'a', inputSchema: 'object' }, undefined],
  [
    { name: 'a', inputSchema: { type: ['object', 'null'] } },
    { name: 'a', inputSchema: OBJECT },
  ],
  [
    { name: 'a', inputSchema: { ...OBJECT, properties: [], required: null } },
    { name: 'a', inputSchema: { ...OBJECT, properties: {} } },
  ],
  [
    {
      name: 'a',
      inputSchema: { ...OBJECT, properties: { b: true, c: [], d: { ...OBJECT, properties: [] } } },
    },
    { name: 'a', inputSchema: { ...OBJECT, properties: { b: {}, c: {}, d: { ...OBJECT, properties: {} } } } },
  ],
  [
    { name: 'a', inputSchema: OBJECT, outputSchema: null },
    { name: 'a', inputSchema: OBJECT },
  ],
  [
    { name: 'a', inputSchema: OBJECT, outputSchema: { description: 'b' } },
    { name: 'a', inputSchema: OBJECT, outputSchema: { description: 'b', type: 'object' } },
  ],
  [
    { name: 'a', inputSchema: OBJECT, outputSchema: { type: 'array' } },
    { name: 'a', inputSchema: OBJECT },
  ],
  [
    { name: 'a', title: null, description: 7, annotations: null, icons: {}, _meta: [], inputSchema: OBJECT },
    { name: 'a', _meta: {}, inputSchema: OBJECT },
  ],
  [
    {
      name: 'a',
      annotations: { title: null, readOnlyHint: 'yes', idempotentHint: true },
      inputSchema: OBJECT,
    },
    { name: 'a', annotations: { idempotentHint: true }, inputSchema: OBJECT },
  ],
  [{ name: null, inputSchema: OBJECT }, undefined],
  ['a', undefined],
]

test('a tool is repaired where its meaning is plain, else left out', () => {
  for (const [given, seen] of TOOLS) {
    const faults: string[] = []
    const { tools } = repairedList('tools', { tools: [given] }, (...fault) => faults.push(fault.join()))
    assert.deepEqual(tools, seen ? [seen] : [])
    assert.equal(faults.length, given === (tools as Loose[])[0] ? 0 : 1)
  }
})

test('prompts, resources and pages are repaired in the same way', () => {
  const repaired = (kind: string, result: Loose) => repairedList(kind, result, () => {})
  const prompt = { name: 'a', description: null, arguments: [{ name: 'b', required: null }, null] }
  assert.deepEqual(repaired('prompts', { prompts: [prompt, { name: 'c', arguments: null }] }).prompts, [
    { name: 'a', arguments: [{ name: 'b' }] },
    { name: 'c' },
  ])
  assert.deepEqual(repaired('resources', { resources: [{ uri: 'a:b', mimeType: null }, {}] }).resources, [
    { uri: 'a:b', name: 'a:b' },
  ])
  assert.deepEqual(repaired('resourceTemplates', { resourceTemplates: null, nextCursor: null }), {
    resourceTemplates: [],
  })
  assert.deepEqual(repaired('prompts', {}), { prompts: [] })
  assert.deepEqual(repaired('tools', { tools: {}, nextCursor: 8, _meta: [] }), {
    tools: [],
    nextCursor: '8',
    _meta: {},
  })
})

test('what a server says of itself is repaired', () => {
  for (const capabilities of [null, [], undefined, 'all'])
    assert.deepEqual(repairedHandshake({ capabilities } as never).capabilities, {})
  const given = { tools: { listChanged: null }, prompts: null, logging: [], instructions: 7 }
  assert.deepEqual(repairedHandshake({ capabilities: given } as never).capabilities, {
    tools: {},
    logging: {},
  })
  const sound = { capabilities: { tools: {} }, instructions: 'a' }
  assert.equal(repairedHandshake(sound), sound)
  // Its clients may speak what the gateway speaks.
  const { supportedVersions } = repairedHandshake({ supportedVersions: ['2026-07-28'], ...sound })
  assert.deepEqual(supportedVersions, REVISIONS)
})

for (const era of ['session', 'modern'] as const)
  test(`one bad definition costs no other: official client, servers of ${era}`, async (t) => {
    const tools = TOOLS.map(([tool], i) =>
      typeof tool === 'string' ? tool : { ...tool, name: tool.name && `t${i}` },
    )
    const bad = await answering(t, era, () => {}, undefined, tools as object[])
    const good = await answering(t, era, () => {}, undefined, [{ name: 'good', inputSchema: OBJECT }])
    for (const list of [false, true]) {
      const servers = list ? [bad.server, good.server] : [bad.server]
      const { url, logged, proxy } = await proxied(t, servers, { list })
      const client = new Client({ name: 'c', version: '1' })
      await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never)
      const names = (await client.listTools()).tools.map(({ name }) => name)
      await client.close()
      const left = TOOLS.filter(([, seen]) => seen).length
      assert.equal(names.length, list ? left + 1 : left)
      assert.deepEqual((await modern(url).request('tools/list')).result.tools.length, names.length)
      const said = logged.filter(({ msg }) => msg === 'an MCP server declares what clients cannot read')
      assert.ok(proxy.status().declarations?.includes('tools t1: it was repaired'))
      assert.equal(said.length, new Set(said.map((line) => `${line.name} ${line.fault}`)).size)
    }
  })

test('a list that a server omits is empty', async (t) => {
  // JSON has no member for it.
  const omitted = { toJSON: () => undefined } as never
  for (const era of ['session', 'modern'] as const)
    for (const list of [false, true]) {
      const { server } = await answering(t, era, () => {}, undefined, omitted)
      const { url } = await proxied(t, [server], { list })
      for (const client of [await open(url), modern(url)])
        assert.deepEqual((await client.request('tools/list')).result.tools, [])
    }
})
