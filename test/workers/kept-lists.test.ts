import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { MODERN_META, modernHeaders } from '../support/served.ts'
import { hinting } from '../upstream/hinting.ts'
import { ACCEPT, eventually, post, serveWorkers } from './harness.ts'

test('a list that changed is kept by no worker, whichever has heard of it', {
  timeout: 120_000,
}, async (t) => {
  const servers = [await hinting(t, 'one'), await hinting(t, 'two')]
  const mcpServers = servers.map(({ name, url }) => ({ name, type: 'streamable-http', url }))
  const all = stringify({
    name: 'all',
    routers: [{ server: ['one', 'two'], prefix: '/all' }],
    mcpServers,
  })
  const { url } = await serveWorkers(t, { files: { all } })
  const bodyOf = (method: string, params = '') =>
    `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params}${MODERN_META}}}`
  /** How often the server had been asked for the list that a worker answers with. */
  const counted = async () => {
    const { text } = await post(url('all'), JSON.parse(bodyOf('tools/list')), modernHeaders('tools/list'))
    return Number(/"name":"one\w*?one_(\d+)/.exec(text)?.[1])
  }
  const countedBySix = () => Promise.all(Array.from({ length: 6 }, counted))
  await countedBySix()
  assert.equal(new Set(await countedBySix()).size, 3, 'each worker keeps its own')

  const method = 'subscriptions/listen'
  const listen = request(url('all'), { method: 'POST', headers: { ...ACCEPT, ...modernHeaders(method) } })
  listen.end(bodyOf(method, '"notifications":{"toolsListChanged":true},'))
  const [stream] = await once(listen, 'response')
  t.after(() => listen.destroy())
  await once(stream, 'data')
  const before = servers[0]!.lists
  servers[0]!.changed()
  await eventually(async () => (await countedBySix()).every((count) => count > before))
})
