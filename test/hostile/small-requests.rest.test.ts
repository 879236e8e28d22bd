import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { modernHeaders, served } from '../support/served.ts'
import { type Loose, META } from '../support/wire.ts'
import { batchOf, hardRequests, services } from './small-requests.ts'

/** Milliseconds of CPU in which another client is served: what one message does, several times. */
const MOST_CPU = 500
/** Of a list of 50, which is read once, and once more for an unknown name. */
const MOST_PAGES = 100
const PING = { jsonrpc: '2.0', id: 'other', method: 'ping' }

test('100 of each method and tool of the gateway, in a batch and at once, leave it alive and serving others', async (t) => {
  const { configurations, tool, asked } = await services(t, { tools: 2_500, rows: 28_000 })
  const gateway = await served(t, configurations, { env: { NODE_OPTIONS: '--max-old-space-size=512' } })
  const session = await gateway.open('/http', '2025-03-26')
  const proxied = await gateway.open('/mcp', '2025-03-26')
  const keep = async () => {
    const params = { name: 'call_tool', arguments: { name: tool } }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const { text } = await gateway.post('/http/mcp', message, session)
    const [, id] = /`id`: \\?"([^"\\]+)/.exec(text) ?? []
    assert.ok(id, text.slice(0, 500))
    return id
  }
  const cpu = () => {
    const [, fields = ''] = readFileSync(`/proc/${gateway.child.pid}/stat`, 'utf8').split(') ')
    const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number)
    return (user + system) * 10
  }

  /** Waits of another client while `work` is done. */
  const beside = async (title: string, work: Promise<readonly { status: number; text: string }[]>) => {
    const going = { isOver: false }
    let [served, longest] = [0, 0]
    const other = async () => {
      while (!going.isOver) {
        const began = cpu()
        const { status } = await gateway.post('/http/mcp', PING, session)
        assert.equal(status, 200, title)
        longest = Math.max(longest, cpu() - began)
        served++
      }
    }
    const others = other()
    const began = cpu()
    const answers = await work
    const ms = cpu() - began
    going.isOver = true
    await others
    t.diagnostic(`${title}: ${ms} ms of CPU, ${longest} ms of it in one wait, ${served} served`)
    assert.ok(served > 0 && longest <= MOST_CPU, `${title}: another client waited for ${longest} ms of CPU`)
    assert.ok(asked.pages <= MOST_PAGES, `${title}: ${asked.pages} pages were read`)
    asked.pages = 0
    for (const { status, text } of answers)
      assert.ok([200, 202, 400, 404, 503].includes(status), `${title}: ${status} ${text.slice(0, 200)}`)
  }

  for (const [prefix, headers] of Object.entries({ '/http': session, '/mcp': proxied }))
    for (const title of Object.keys(hardRequests(''))) {
      const ask = hardRequests(await keep())[title]!
      const one = gateway.post(`${prefix}/mcp`, batchOf(ask), headers)
      await beside(
        `${prefix} ${title}, in a batch`,
        one.then((answer) => [answer]),
      )
      if (ask(0).method === 'subscriptions/listen') continue
      const alone = Array.from({ length: 90 }, (_, i) => {
        const { method, params }: Loose = ask(i)
        const message = { jsonrpc: '2.0', id: i, method, params: { ...params, _meta: META } }
        const named = params.name ?? params.uri
        return gateway.post(`${prefix}/mcp`, message, modernHeaders(method, named))
      })
      await beside(`${prefix} ${title}, at once`, Promise.all(alone))
    }
})
