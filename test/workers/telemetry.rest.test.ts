import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolsFile } from '../cluster/harness.ts'
import { collector } from '../support/collector.ts'
import { freePort } from '../support/process.ts'
import { until } from '../support/until.ts'
import { openSession, post, serveWorkers, type Worker } from './harness.ts'

const TIMEOUT = { timeout: 120_000 }

test('a collector gets metrics of one gateway, and spans that name one session', TIMEOUT, async (t) => {
  const sink = await collector(t)
  const gateway = await serveWorkers(t, {
    files: { tools: await toolsFile(t) },
    settings: { telemetry: { otlp: { endpoint: sink.url } } },
    env: {
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '20',
      OTEL_METRIC_EXPORT_INTERVAL: '100',
    },
  })
  const url = gateway.url('tools')
  const { headers } = await openSession(url)
  const params = { name: 'echo', arguments: { text: 'x' } }
  const all = Array.from({ length: 9 }, async (_, id) => {
    await post(url, { id, method: 'tools/call', params }, headers)
    await post(url, { method: 'notifications/initialized' }, headers)
  })
  await Promise.all(all)
  const called = () =>
    sink.histograms
      .get('mcp.server.operation.duration')
      ?.points.find(({ attributes }) => attributes['mcp.method.name'] === 'tools/call')?.count
  await sink.until('all calls', () => called() === 9)
  // Each of the next ones has all of them, too.
  for (let i = 0; i < 4; i++) {
    const sent = sink.requests.length
    await sink.until('the next', () => sink.requests.slice(sent).some(({ path }) => path === '/v1/metrics'))
    assert.equal(called(), 9)
  }
  const ofClients = () => sink.spans.filter(({ kind }) => kind === 2)
  await sink.until('all spans', () => ofClients().length === 19)
  assert.equal(new Set(ofClients().map(({ attributes }) => attributes['mcp.session.id'])).size, 1)
})

test('what a worker has counted that ends during a question is counted once', TIMEOUT, async (t) => {
  const own = `127.0.0.1:${await freePort()}`
  const settings = { admin: { listen: own } }
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) }, settings })
  const ask = async (path: string) => (await fetch(`http://${own}${path}`)).text()
  const called = async () =>
    Number(/^plantgw_tool_calls_total\{.*\} (\d+)$/m.exec(await ask('/metrics'))?.[1])
  const url = gateway.url('tools')
  const { headers } = await openSession(url)
  const params = { name: 'echo', arguments: { text: 'x' } }
  const call = () => post(url, { id: 1, method: 'tools/call', params }, headers)
  await Promise.all(Array.from({ length: 9 }, call))
  assert.equal(await called(), 9)
  const [stopped, killed] = JSON.parse(await ask('/_status')).workers as [Worker, Worker]
  process.kill(stopped.pid, 'SIGSTOP')
  const asked = called()
  process.kill(killed.pid, 'SIGKILL')
  await gateway.until(/a worker has ended/)
  process.kill(stopped.pid, 'SIGCONT')
  assert.equal(await asked, 9)
  assert.equal(await called(), 9)
})

test('metrics show how late the event loop of a worker was', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) } })
  const [{ pid }] = (await gateway.workers()) as [Worker]
  process.kill(pid, 'SIGSTOP')
  const stopped = performance.now()
  await until(async () => performance.now() - stopped > 600)
  process.kill(pid, 'SIGCONT')
  const late = await until(async () => {
    const text = await gateway.metrics()
    const [within, all] = ['bucket{le="0.5"}', 'count'].map((part) => {
      const line = text
        .split('\n')
        .find((each) => each.startsWith(`plantgw_event_loop_delay_seconds_${part} `))
      return Number(line?.split(' ')[1])
    })
    return Number(all) - Number(within)
  })
  assert.ok(late >= 1, String(late))
})
