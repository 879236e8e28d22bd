import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf, hardRequests, services } from '../hostile/small-requests.ts'
import { gatewayHere } from '../support/gateway.ts'
import { open } from '../upstream/harness.ts'

/** Milliseconds of CPU of a batch of 100, on a slow machine. */
const MOST_CPU = 1_500

test('100 of each method and tool of the gateway in one batch are little work', {
  timeout: 60_000,
}, async (t) => {
  const { configurations, tool, asked } = await services(t, { tools: 60, rows: 500 })
  const [first, ...others] = configurations as [object, ...object[]]
  const gateway = await gatewayHere(t, first, {}, {}, others)
  const post = async (url: string, headers: Record<string, string>, body: string) => {
    const given = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const response = await fetch(url, { method: 'POST', headers: { ...given, ...headers }, body })
    return { status: response.status, text: await response.text() }
  }
  let id = ''
  for (const prefix of ['/http', '/mcp']) {
    const url = `${gateway.base}${prefix}/mcp`
    const { headers } = await open(url, {}, {}, '2025-03-26')
    if (prefix === '/http') {
      const params = { name: 'call_tool', arguments: { name: tool } }
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
      const { text } = await post(url, headers, JSON.stringify(message))
      id = /`id`: \\"([^"\\]+)/.exec(text)?.[1] ?? ''
      assert.ok(id, text)
    }
    for (const [title, ask] of Object.entries(hardRequests(id))) {
      asked.pages = 0
      const before = process.cpuUsage()
      const { status, text } = await post(url, headers, batchOf(ask))
      const { user, system } = process.cpuUsage(before)
      const ms = (user + system) / 1000
      assert.equal(status, 200, `${prefix} ${title}: ${text.slice(0, 300)}`)
      assert.ok(ms <= MOST_CPU, `${prefix} ${title}: ${ms.toFixed(0)} ms of CPU`)
      assert.ok(asked.pages <= 100, `${prefix} ${title}: ${asked.pages} pages`)
    }
  }
})
