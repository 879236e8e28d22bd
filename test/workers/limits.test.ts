import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolsFile } from '../cluster/harness.ts'
import { listen } from '../limits/harness.ts'
import { heldApi } from '../support/held-api.ts'
import { until } from '../support/until.ts'
import { ask, openSession, post, serveWorkers } from './harness.ts'

const TIMEOUT = { timeout: 120_000 }
const tally = (all: readonly { status: number }[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of all) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
const times = <Value>(count: number, make: () => Promise<Value>) =>
  Promise.all(Array.from({ length: count }, make))

test('parts of workers add up to limits of sessions, rates and wrong credentials', TIMEOUT, async (t) => {
  const rate = [{ per: 'caller', limit: 5, window: '1h' }]
  const auth = { type: 'bearer', tokens: [{ token: 'a-token-of-16-characters', caller: 'ann' }] }
  const files = {
    tools: await toolsFile(t),
    limited: (await toolsFile(t, { prefix: '/limited', rate })).replaceAll('name: tools', 'name: limited'),
    closed: (await toolsFile(t, { prefix: '/closed', auth })).replaceAll('name: tools', 'name: closed'),
  }
  for (const name of ['limited', 'closed'] as const)
    files[name] = files[name].replaceAll('server: tools', `server: ${name}`)
  const settings = { limits: { maxSessions: 61, maxFailedLogins: 4 } }
  const gateway = await serveWorkers(t, { files, settings })
  const opened = await times(20, async () => (await openSession(gateway.url('tools'))).answer)
  assert.deepEqual(tally(opened), { 200: 7, 503: 13 })
  const listed = await times(20, () => post(gateway.url('limited'), { id: 1, method: 'ping' }))
  assert.equal(tally(listed)[429], 15)
  const guess = () => ask(gateway.url('closed'), 'GET', { authorization: 'Bearer of-somebody-else' })
  assert.deepEqual(tally(await times(20, guess)), { 401: 4, 429: 16 })
  const text = await gateway.metrics()
  assert.match(text, /plantgw_refused_total\{limit="maxSessionsPerCaller"\} 13\n/)
  assert.match(text, /plantgw_refused_total\{limit="maxFailedLogins"\} 16\n/)
})

test('each worker limits its part of the calls under way', TIMEOUT, async (t) => {
  const { origin, waiting } = await heldApi(t)
  const tools = (await toolsFile(t)).replace(/http:\/\/127\.0\.0\.1:\d+\//, `${origin}/`)
  const gateway = await serveWorkers(t, { files: { tools }, settings: { limits: { maxCallsPerPrefix: 14 } } })
  const { headers } = await openSession(gateway.url('tools'))
  for (let i = 0; i < 2; i++) {
    const refused: number[] = []
    const params = { name: 'echo', arguments: { text: 'x' } }
    const calls = times(12, async () => {
      const { status } = await post(gateway.url('tools'), { id: 1, method: 'tools/call', params }, headers)
      if (status !== 200) refused.push(status)
      return { status }
    })
    await until(async () => waiting.length === 5 && refused.length === 7)
    for (const response of waiting.splice(0)) response.end('ok')
    assert.deepEqual(tally(await calls), { 200: 5, 503: 7 })
  }
})

test('calls of the older transport are limited in the worker that has their stream', TIMEOUT, async (t) => {
  const { origin, waiting } = await heldApi(t)
  const tools = (await toolsFile(t)).replace(/http:\/\/127\.0\.0\.1:\d+\//, `${origin}/`)
  const gateway = await serveWorkers(t, { files: { tools }, settings: { limits: { maxCallsPerPrefix: 24 } } })
  const stream = await listen(t, gateway.url('tools', 'sse'))
  await until(() => stream.data.length > 0)
  const address = `${gateway.origin}${stream.data[0]}`
  const params = { name: 'echo', arguments: { text: 'x' } }
  for (let i = 0; i < 2; i++) {
    const sent = await times(12, () => post(address, { id: 1, method: 'tools/call', params }))
    assert.deepEqual(tally(sent), { 202: 2, 503: 10 })
    await until(async () => waiting.length === 2)
    const answered = stream.data.length
    for (const response of waiting.splice(0)) response.end('ok')
    await until(() => stream.data.length === answered + 2)
  }
})
