import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { BODIES, ODD, REFUSALS } from '../fixtures/odd-answers.ts'
import { listening } from '../support/listening.ts'
import { answering } from './answering.ts'
import { CLIENTS, open, proxied, send } from './harness.ts'

const REASON = 'error: the shelf is full'
const STDIO = fileURLToPath(new URL('../fixtures/odd-stdio.ts', import.meta.url))

for (const era of ['session', 'modern', 'sse', 'stdio'] as const)
  for (const list of [false, true])
    test(`odd answers are taken as the official SDKs take them: server of ${era}${list ? ' in a list' : ''}`, async (t) => {
      const forms = {
        json: [200, 'application/json', (text: string) => text],
        created: [201, 'application/json-rpc', (text: string) => text],
        events: [200, 'text/event-stream', (text: string) => `\ufeffid: 1\ndata: ${text}\n\n`],
        refused: [400, 'application/json', (text: string) => text],
      } as const
      const all = { ...ODD, ...REFUSALS, ...BODIES }
      const said = (name: string, id: unknown) => {
        const text = all[name]!(id)
        return era === 'modern' ? text.replace('"result":{', '"result":{"resultType":"complete",') : text
      }
      const { server } =
        era === 'stdio'
          ? { server: { type: 'stdio', command: process.execPath, args: ['--import=tsx', STDIO] } }
          : await answering(t, era, (response, { id, params }) => {
              const [form, name] = params.name.split(': ')
              if (era === 'sse') return response.write(`data: ${said(name, id)}\n\n`)
              const [status, type, framed] = forms[form as keyof typeof forms]
              return response.writeHead(status, { 'content-type': type }).end(framed(said(name, id)))
            })
      // The server of SSE answers on its newest stream.
      const own = era === 'sse' ? { ...server, isolation: 'shared' } : server
      const { url } = await proxied(t, [own], { list })
      const cases: [form: string, name: string, heard: string][] = []
      for (const form of era === 'session' || era === 'modern' ? ['json', 'created', 'events'] : ['json']) {
        for (const name of Object.keys(ODD)) cases.push([form, name, 'hello'])
        for (const name of Object.keys(REFUSALS)) cases.push([form, name, REASON])
      }
      if (era === 'session' || era === 'modern')
        for (const name of Object.keys(BODIES)) cases.push(['refused', name, REASON])
      for (const [kind, connect] of Object.entries(CLIENTS)) {
        const client = await connect(t, url)
        for (const [form, name, heard] of cases) {
          const tool = era === 'stdio' ? name : `${form}: ${name}`
          assert.equal(await client.call(list ? `s1__${tool}` : tool), heard, `${kind}, ${tool}`)
        }
        if (era === 'stdio') assert.equal(await client.call(list ? 's1__behind' : 'behind'), 'hello', kind)
      }
    })

for (const body of ['null', '{}', '', '[]'])
  test(`200 and ${body || 'nothing'} for a notification is 202`, async (t) => {
    const server = createServer(async (request, response) => {
      let text = ''
      for await (const chunk of request) text += chunk
      const { id } = text ? JSON.parse(text) : {}
      response.writeHead(201, { 'content-type': 'application/json', 'mcp-session-id': 's' })
      if (id === undefined) return response.end(body)
      const serverInfo = { name: 's', version: '1' }
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo }
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    const port = await listening(t, server)
    const { url } = await proxied(t, [{ type: 'streamable-http', url: `http://127.0.0.1:${port}/mcp` }])
    const { headers } = await open(url)
    const answer = await send(url, { method: 'notifications/initialized' }, headers)
    assert.deepEqual([answer.status, await answer.text()], [202, ''])
  })

test('clients get errors with a number as code and a text as message, whatever a server sends', async (t) => {
  const forms: Record<string, [error: unknown, shown: object]> = {
    text: ['full', { code: -32603, message: 'full' }],
    nothing: [{}, { code: -32603, message: 'Internal error' }],
    uncoded: [
      { message: 'full', data: 1 },
      { code: -32603, message: 'full', data: 1 },
    ],
    coded: [
      { code: '-32001', message: 'full' },
      { code: -32001, message: 'full' },
    ],
    object: [
      { code: 7, message: { shelf: 'full' } },
      { code: 7, message: '{"shelf":"full"}' },
    ],
  }
  const { server } = await answering(t, 'session', (response, { id, params }) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, error: forms[params.name]![0] })),
  )
  const { url } = await proxied(t, [server])
  for (const connect of Object.values(CLIENTS)) {
    const client = await connect(t, url)
    for (const [name, [, shown]] of Object.entries(forms))
      assert.deepEqual((await client.request('tools/call', { name, arguments: {} })).error, shown, name)
  }
})
