import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { toolsFile } from '../cluster/harness.ts'
import { childrenOf, temporaryFolder } from '../support/process.ts'
import { modernHeaders } from '../support/served.ts'
import { until } from '../support/until.ts'
import { META } from '../support/wire.ts'
import { ask, openSession, post, serveWorkers } from './harness.ts'

const TIMEOUT = { timeout: 120_000 }
const CHILDREN = `/proc/${process.pid}/task/${process.pid}/children`
const PLACED = { ...TIMEOUT, skip: existsSync(CHILDREN) ? false : 'reads /proc' }

test('SIGTERM under load: no call fails while the port is open, each line is whole', TIMEOUT, async (t) => {
  const settings = { drain: { grace: '1s' }, audit: { to: 'stdout' } }
  const gateway = await serveWorkers(t, {
    files: { tools: await toolsFile(t) },
    settings,
    until: /"listening"/,
  })
  const url = gateway.url('tools')
  const { headers } = await openSession(url)
  const answers: (number | string)[] = []
  const load = async (client: number) => {
    for (let i = 0; ; i++) {
      const text = `c${client}-${i}`
      const call = { id: text, method: 'tools/call', params: { name: 'echo', arguments: { text } } }
      const { status } = await post(url, call, headers).catch(({ code }) => ({ status: code as string }))
      // From then on nobody listens.
      if (status === 'ECONNREFUSED') return
      answers.push(status)
    }
  }
  const loads = Promise.all([load(1), load(2), load(3), load(4), load(5), load(6)])
  await until(async () => answers.length > 60)
  gateway.child.kill('SIGTERM')
  await loads
  assert.equal(await gateway.ended, 0)
  assert.deepEqual(new Set(answers), new Set([200]))
  const lines = gateway
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('{'))
  assert.equal(
    lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'tool call').length,
    answers.length,
  )
  const events = gateway
    .stdout()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const called = events.filter((event) => JSON.stringify(event).includes('"tools/call"'))
  assert.equal(called.length, answers.length)
})

/** A server over stdio that answers a call once its file is there. */
const WAITING = `
const { existsSync } = require('node:fs')
const file = process.argv[1]
const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
const tools = [{ name: 'wait', inputSchema: { type: 'object' } }]
const answers = {
  'server/discover': () => discovered,
  'tools/list': () => ({ tools, ttlMs: 0, cacheScope: 'private' }),
  'tools/call': async () => {
    process.stderr.write('called\\n')
    while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10))
    return { content: [{ type: 'text', text: 'waited' }] }
  },
}
require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  const result = { resultType: 'complete', ...(await answers[method]?.()) }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
})`

test('a call that another worker carries out ends before the gateway does', PLACED, async (t) => {
  const file = join(temporaryFolder(t), 'go')
  const upstreams = { s: { type: 'stdio' as const, command: process.execPath, args: ['-e', WAITING, file] } }
  const settings = { drain: { grace: '0s', timeout: '60s' } }
  const gateway = await serveWorkers(t, { upstreams, settings })
  const ofPlace = async () => {
    const list = { id: 'list', method: 'tools/list', params: { _meta: META } }
    await post(gateway.url('s'), list, modernHeaders('tools/list'))
    return (await gateway.workers()).find(({ pid }) => childrenOf(pid).length > 0)
  }
  const place = await until(ofPlace)
  const isBusiest = async () => {
    const socket = connect(gateway.port, '127.0.0.1').on('error', () => {})
    await once(socket, 'connect')
    const all = await gateway.workers()
    const most = all.find(({ pid }) => pid === place.pid)!.connections
    return all.some(({ connections }) => connections < most)
  }
  // The next connection is given to another worker.
  await until(isBusiest)
  const params = { name: 'wait', arguments: {}, _meta: META }
  const call = post(
    gateway.url('s'),
    { id: 1, method: 'tools/call', params },
    modernHeaders('tools/call', 'wait'),
  )
  await gateway.until(/called/)
  gateway.child.kill('SIGTERM')
  // The listener is closed: the workers drain, and those without clients have nothing left to do.
  await until(async () => (await ask(gateway.url('s'), 'GET').catch(() => undefined)) === undefined)
  const since = performance.now()
  await until(async () => performance.now() - since > 3_000)
  writeFileSync(file, '')
  const { status, text } = await call
  assert.equal(status, 200, text)
  assert.match(text, /waited/)
  assert.equal(await gateway.ended, 0)
})
