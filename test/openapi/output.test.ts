import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { parse } from 'yaml'
import type { JsonObject } from '../../src/json/index.ts'
import { served } from '../support/served.ts'
import { json, upstream } from '../tools/harness.ts'
import { document, imported, operation, toolsOf } from './imported.ts'

const order = {
  type: 'object',
  required: ['id', 'state'],
  additionalProperties: false,
  properties: {
    id: { type: 'integer', format: 'int64' },
    state: { type: 'string', enum: ['open', 'closed'] },
    created: { type: 'string', format: 'date-time' },
    note: { type: 'string', description: 'What the customer wrote.' },
    secret: { type: 'string', writeOnly: true },
    lines: { type: 'array', items: { $ref: '#/components/schemas/Line' } },
    shipped: { anyOf: [{ type: 'boolean' }, { $ref: '#/components/schemas/Line' }] },
    labels: { type: 'object', additionalProperties: { type: 'integer' } },
  },
}
const line = {
  allOf: [{ type: 'object', properties: { sku: { type: 'string' } } }],
  properties: { parent: { $ref: '#/components/schemas/Line' } },
}
const components = { schemas: { Order: order, Line: line } }
const ref = { $ref: '#/components/schemas/Order' }
const success = (schema: object, status = '200') => ({
  [status]: { description: 'ok', content: { 'application/json': { schema } } },
})

/** The `outputSchema` of an operation with these responses. */
async function outputOf(responses: object, more: Record<string, unknown> = {}) {
  const { configuration } = await toolsOf(operation({ responses }, { components, ...more }))
  return configuration.tools[0]!.outputSchema
}

const written = {
  type: 'object',
  properties: {
    id: { description: 'integer' },
    state: { description: 'open, closed' },
    created: { description: 'date-time' },
    note: { description: 'What the customer wrote.' },
    lines: { items: { properties: { sku: {}, parent: {} } } },
    shipped: { anyOf: [{ description: 'boolean' }, { properties: { sku: {}, parent: {} } }] },
    labels: { additionalProperties: { description: 'integer' } },
  },
}

test('a response becomes the outputSchema of its tool, whose members are named and refuse nothing', async () => {
  assert.deepEqual(await outputOf(success(ref)), written)
  assert.deepEqual(await outputOf({ ...success(ref), 204: { description: 'none' } }), written)
  assert.deepEqual(
    await outputOf({ ...success(ref), ...success(ref, '2XX'), ...success(line, '404') }),
    written,
  )
  const example = { content: { 'application/json': { example: { id: 7, list: [{ a: 'x' }] } } } }
  assert.deepEqual(await outputOf({ 200: example }), {
    type: 'object',
    properties: { id: { description: 'number' }, list: { items: { properties: { a: {} } } } },
  })
})

test('what is not always JSON, of one form, has no outputSchema', async () => {
  const other = { content: { 'application/json': { schema: ref }, 'text/event-stream': {} } }
  for (const responses of [
    {},
    { 204: { description: 'none' } },
    { ...success(ref), ...success(line, '202') },
    { 200: other },
    { ...success(ref), 206: { content: { 'application/octet-stream': {} } } },
    success({ type: 'string' }),
    success({ type: 'array', items: ref }),
    success({ type: ['object', 'string'] }),
    success({ oneOf: [ref, { type: 'string' }] }),
    success({ $ref: '#/components/schemas/Nowhere' }),
    { default: { content: { 'application/json': { schema: ref } } } },
  ])
    assert.equal(await outputOf(responses), undefined, JSON.stringify(responses))
  assert.equal(await outputOf(success(ref), { method: 'head' }), undefined)
})

test('Swagger 2.0 has the schema beside the response, and its types elsewhere', async () => {
  const old = (more: object) => ({
    swagger: '2.0',
    info: { title: 'Shop' },
    host: 'api.example.com',
    definitions: { Line: { type: 'object', properties: { sku: { type: 'string' } } } },
    paths: {
      '/a': {
        get: { summary: 'A', responses: { 200: { schema: { $ref: '#/definitions/Line' } } }, ...more },
      },
    },
  })
  const of = async (more: object) => (await toolsOf(old(more))).configuration.tools[0]!.outputSchema
  const expected = { type: 'object', properties: { sku: {} } }
  assert.deepEqual(await of({}), expected)
  assert.deepEqual(await of({ produces: ['application/json', 'application/xml'] }), expected)
  assert.equal(await of({ produces: ['application/json', 'image/png'] }), undefined)
})

test('a large schema is written less deep, and in part; a list that is full has none', async () => {
  const wide = (width: number, inner: object): object => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: width }, (_, i) => [`member${i}`, inner])),
  })
  const deep = await outputOf(success(wide(5, wide(5, wide(5, { type: 'integer' })))))
  assert.ok(JSON.stringify(deep).length <= 800)
  assert.ok((deep as { properties: { member4: { properties: object } } }).properties.member4.properties)
  const broad = await outputOf(success(wide(500, { description: 'long '.repeat(30) })))
  const { length } = Object.keys((broad as { properties: object }).properties)
  assert.ok(length > 10 && length < 60, `${length}`)
  const paths = Object.fromEntries(
    Array.from({ length: 4 }, (_, i) => [
      `/p${i}`,
      { get: { operationId: `op${i}`, responses: success(ref) } },
    ]),
  )
  const made = imported(document(paths, { components }), { listSize: 1_800 })
  assert.equal(made.configurations.length, 1)
  const { tools } = parse(made.configurations[0]!.text) as { tools: JsonObject[] }
  assert.deepEqual(
    tools.map(({ outputSchema }) => outputSchema !== undefined),
    [true, true, false, false],
  )
})

test('no object is refused, whatever its members are', () => {
  const fits = new Ajv2020({ strict: false }).compile(written)
  const any = fc.jsonValue()
  const members = fc.record(
    { id: any, state: any, created: any, lines: any, shipped: any, labels: any },
    { requiredKeys: [] },
  )
  fc.assert(fc.property(members, (value) => fits(value)))
})

test('clients of both SDKs take what an API really sends', async (t) => {
  const bodies: Record<string, unknown> = {
    '/sloppy': { id: '7', state: 'lost', lines: {}, shipped: null, more: 1 },
  }
  const api = await upstream((response, { url }) =>
    url in bodies ? json(response, bodies[url]) : response.writeHead(204).end(),
  )
  const get = (operationId: string, schema: object) => ({
    get: { operationId, summary: operationId, responses: success(schema) },
  })
  const paths = { '/sloppy': get('sloppy', ref), '/none': get('none', ref) }
  const made = imported(document(paths, { components, servers: [{ url: api.origin }] }))
  const { port } = await served(t, [parse(made.configurations[0]!.text)])
  const url = new URL(`http://127.0.0.1:${port}/shop/mcp`)
  const clients = [
    [new Client({ name: 'old', version: '1' }), new StreamableHTTPClientTransport(url)],
    [new ModernClient({ name: 'new', version: '1' }), new ModernTransport(url)],
  ] as const
  for (const [client, transport] of clients) {
    await client.connect(transport as never)
    const { tools } = await client.listTools()
    assert.deepEqual(tools[0]!.outputSchema, written)
    const call = async (name: string) => {
      const { isError, structuredContent } = await client.callTool({ name, arguments: {} })
      return [isError === true, structuredContent]
    }
    assert.deepEqual(await call('sloppy'), [false, bodies['/sloppy']])
    assert.deepEqual(await call('none'), [false, {}])
    await client.close()
  }
})
