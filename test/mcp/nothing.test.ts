import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modernHeaders } from '../support/served.ts'
import { ACCEPT } from '../support/wire.ts'
import { answering, said } from '../upstream/answering.ts'
import { META, open, proxied } from '../upstream/harness.ts'

/** Members of a request that mean nothing. */
const NOTHING = ['null', '[]']

test('null and an empty array are absent, and reach no server; numbers and texts are refused', async (t) => {
  const sent: string[] = []
  const { server } = await answering(t, 'session', (response, { id, params }) => {
    sent.push(JSON.stringify(params))
    response.writeHead(200, { 'content-type': 'application/json' }).end(said(id, 'hello'))
  })
  const { url } = await proxied(t, [server])
  const { headers } = await open(url)
  const post = async (body: string, given = headers) => {
    const own = { 'content-type': 'application/json', accept: ACCEPT, ...given }
    const response = await fetch(url, { method: 'POST', headers: own, body })
    return [response.status, await response.text()] as const
  }
  for (const nothing of NOTHING) {
    const [status] = await post(`{"jsonrpc":"2.0","method":"notifications/initialized","params":${nothing}}`)
    assert.equal(status, 202)
    const list = await post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${nothing}}`)
    assert.match(list[1], /"result"/)
    const page = await post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":${nothing}}}`)
    assert.match(page[1], /"result"/)
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":${nothing}}}`
    assert.match((await post(call))[1], /hello/)
    const meta = { ...META, 'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' } }
    const modern = call.replace('"name"', `"_meta":${JSON.stringify(meta)},"name"`)
    const own = modernHeaders('tools/call', 'a')
    assert.match((await post(modern, own))[1], /hello/)
  }
  assert.ok(sent.every((params) => params === '{"name":"a"}'))
  for (const wrong of ['7', '"a"', 'true', '[1]'])
    assert.match(
      (await post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":${wrong}}`))[1],
      /must be an object/,
    )
})

test('a byte order mark before a message is ignored, and reaches no server', async (t) => {
  const { server } = await answering(t, 'session', (response, { id }, request) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(said(id, String(request.headers['content-length'])))
  })
  const { url } = await proxied(t, [server])
  const { headers } = await open(url)
  const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}'
  const own = { 'content-type': 'application/json', accept: ACCEPT, ...headers }
  const heard: string[] = []
  for (const mark of ['', '\ufeff'])
    heard.push(await (await fetch(url, { method: 'POST', headers: own, body: mark + call })).text())
  assert.match(heard[0]!, /"text":"\d+"/)
  assert.equal(heard[1], heard[0])
})
