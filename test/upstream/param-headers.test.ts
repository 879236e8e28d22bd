import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { paramHeaderFault } from '../../src/mcp/index.ts'
import { messages, open, proxied, send } from './harness.ts'

const header = (name: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': name })
const object = (properties: object) => ({ type: 'object', properties })

test('declarations of headers that 2026-07-28 does not allow have a fault', () => {
  for (const schema of [
    object({ a: header('Region') }),
    object({ a: object({ b: header('Deep', 'integer') }), c: header('Flag', 'boolean') }),
    object({ 'x-mcp-header': { type: 'string' } }),
    { type: 'object', default: header('') },
    true,
  ])
    assert.equal(paramHeaderFault(schema), undefined, JSON.stringify(schema))
  for (const [schema, fault] of [
    [object({ a: header('') }), /name of a header/],
    [object({ a: header(7) }), /name of a header/],
    [object({ a: header('a b') }), /name of a header/],
    [object({ a: header('a\r\nb') }), /name of a header/],
    [object({ a: header('N', 'number') }), /string, integer or boolean/],
    [object({ a: header('N', ['string', 'null']) }), /string, integer or boolean/],
    [object({ a: header('Same'), b: object({ c: header('sAME') }) }), /twice/],
    [object({ a: { type: 'array', items: header('Item') } }), /through `properties`/],
    [{ anyOf: [object({ a: header('Any') })] }, /through `properties`/],
    [{ $defs: { a: header('Def') } }, /through `properties`/],
    [header('Root'), /through `properties`/],
  ] as const)
    assert.match(paramHeaderFault(schema) ?? '', fault, JSON.stringify(schema))
})

test('tools whose headers cannot be sent are left out for clients with sessions, and logged', async (t) => {
  const tools = [
    { name: 'good', inputSchema: object({ a: header('Region') }) },
    { name: 'bad', inputSchema: object({ a: header('a b') }) },
  ]
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { id, method } = JSON.parse(text)
    const more = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
    const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ...more }
    const error = { code: -32022, message: 'Unsupported protocol version' }
    const known = { 'server/discover': discovered, 'tools/list': { tools, ...more } }
    const result = known[method as keyof typeof known]
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const { url: at, logged } = await proxied(t, [{ type: 'streamable-http', url }])
  const { headers } = await open(at)
  for (let i = 0; i < 2; i++) {
    const answers = await messages(await send(at, { jsonrpc: '2.0', id: 2, method: 'tools/list' }, headers))
    assert.deepEqual(answers.at(-1)?.result, { tools: tools.slice(0, 1) })
  }
  const lines = logged.filter(({ msg }) => msg === 'tool left out: its x-mcp-header is not valid')
  assert.equal(lines.length, 1)
  assert.equal(lines[0]?.tool, 'bad')
})
