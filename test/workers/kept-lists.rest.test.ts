import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { MODERN_META, modernHeaders } from '../support/served.ts'
import { until } from '../support/until.ts'
import { hinting } from '../upstream/hinting.ts'
import { ACCEPT, serveWorkers } from './harness.ts'

test('a list that changed is kept by no worker, whichever has heard of it', {
  timeout: 120_000,
}, async (t) => {
  const servers = [await hinting(t, 'one'), await hinting(t, 'two')]
  const mcpServers = servers.map(({ name, url }) => ({ name, type: 'streamable-http', url }))
  const all = stringify({ name: 'all', routers: [{ server: ['one', 'two'], prefix: '/all' }], mcpServers })
  const { url } = await serveWorkers(t, { files: { all } })
  const ask = async (agent: Agent, method: string, params = '') => {
    const headers = { ...ACCEPT, ...modernHeaders(method) }
    const sent = request(url('all'), { method: 'POST', agent, headers })
    t.after(() => sent.destroy())
    sent.end(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params}${MODERN_META}}}`)
    const [response] = await once(sent, 'response')
    return response
  }
  // Each connection stays with its worker.
  const agents = Array.from({ length: 3 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  t.after(() => {
    for (const agent of agents) agent.destroy()
  })
  /** How often the server had been asked for the list that each worker answers with. */
  const counted = () =>
    Promise.all(
      agents.map(async (agent) => {
        const text = await readText(await ask(agent, 'tools/list'))
        return Number(/"name":"one\w*?one_(\d+)/.exec(text)?.[1])
      }),
    )
  const kept = await counted()
  assert.equal(new Set(kept).size, 3, 'each worker keeps its own')
  assert.deepEqual(await counted(), kept)

  const other = new Agent()
  const stream = await ask(other, 'subscriptions/listen', '"notifications":{"toolsListChanged":true},')
  await once(stream, 'data')
  await until(() => servers[0]!.streams.length > 0)
  const before = servers[0]!.lists
  servers[0]!.changed()
  await until(async () => (await counted()).every((count) => count > before))
})
