import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolsFile } from '../cluster/harness.ts'
import { eventually, openSession, post, serveWorkers } from './harness.ts'

const TIMEOUT = { timeout: 120_000 }

test(
  'SIGTERM under load: no call fails until the port is closed, and every line is whole',
  TIMEOUT,
  async (t) => {
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
    await eventually(async () => answers.length > 60)
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
  },
)
