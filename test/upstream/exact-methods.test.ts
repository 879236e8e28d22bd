import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { fold } from '../../src/text/index.ts'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'
import { META, open } from './harness.ts'

const CALL = 'tools/call'
const TOOLS = ['delete_item', 'get_item']
const SPELLINGS = [
  CALL.toUpperCase(),
  'Tools/Call',
  `${CALL}\u0000`,
  `${CALL}\u200b`,
  ` ${CALL}`,
  `${CALL}\n`,
  `ｔ${CALL.slice(1)}`,
  'tools/ca\u00adll',
  'tool\u017f/call',
  'to\u0301ols/call',
]

test('no spelling of a method runs a tool that a filter hides, at any kind of prefix', async (t) => {
  const ran: string[] = []
  // It takes every method and name that is similar to one that it knows.
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params }: Loose = JSON.parse(text)
    if (id === undefined) return response.writeHead(202).end()
    const results: Record<string, () => object | undefined> = {
      initialize: () => ({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      }),
      'tools/list': () => ({ tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
      [CALL]: () => {
        const name = fold(String(params.name))
        if (!TOOLS.includes(name)) return undefined
        ran.push(name)
        return { content: [] }
      },
    }
    const result = results[fold(String(method))]?.()
    const said = result ? { result } : { error: { code: -32601, message: 'unknown' } }
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...said }))
  })
  const port = await listening(t, server)
  const url = `http://127.0.0.1:${port}`
  const at = (name: string, more: object = {}) => ({ name, type: 'streamable-http', url, ...more })
  const hidden = { blockedTools: ['delete_item'] }
  const members = [
    { server: 'c', ...hidden },
    { server: 'd', ...hidden },
  ]
  const gateway = await gatewayHere(t, {
    name: 'lenient',
    routers: [
      { server: 'a', prefix: '/one' },
      { server: ['a', 'b'], prefix: '/several' },
      { server: ['a', 'b'], names: 'plain', prefix: '/plain' },
      { server: members, prefix: '/members' },
      { server: ['a', 'b'], prefix: '/searched', discovery: { type: 'search' } },
    ],
    mcpServers: [at('a', hidden), at('b', hidden), at('c'), at('d')],
  })
  const post = async (prefix: string, headers: Record<string, string>, body: unknown) => {
    const given = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const response = await fetch(`${gateway.base}${prefix}/mcp`, {
      method: 'POST',
      headers: { ...given, ...headers },
      body: JSON.stringify(body),
    })
    return response.text()
  }
  for (const prefix of ['/one', '/several', '/plain', '/members', '/searched'])
    for (const revision of ['2025-11-25', '2025-03-26', '2026-07-28']) {
      const isModern = revision === '2026-07-28'
      const session = isModern
        ? { 'mcp-protocol-version': revision }
        : (await open(`${gateway.base}${prefix}/mcp`, {}, {}, revision)).headers
      const messages = ['delete_item', 'a__delete_item', 'c__delete_item'].flatMap((name) =>
        [CALL, ...SPELLINGS].map((method, id) => {
          const _meta = isModern ? { _meta: META } : {}
          return { jsonrpc: '2.0', id, method, params: { name, arguments: {}, ..._meta } }
        }),
      )
      if (revision === '2025-03-26') await post(prefix, session, messages)
      else
        for (const message of messages) {
          const { method, params } = message
          const named = isModern ? { 'mcp-method': method.trim(), 'mcp-name': params.name } : {}
          const headers = /^[\x20-\x7e]*$/.test(method) ? named : {}
          const text = await post(prefix, { ...session, ...headers }, message)
          assert.match(text, /error/, `${prefix} ${revision} ${method}`)
        }
      assert.deepEqual(ran, [], `${prefix} ${revision}`)
    }
  const { call } = await open(`${gateway.base}/one/mcp`)
  await call('get_item')
  assert.deepEqual(ran, ['get_item'])
})
