import assert from 'node:assert/strict'
import { ChildProcess } from 'node:child_process'
import { test } from 'node:test'
import { startChild } from '../../src/upstream/transport/stdio.ts'
import { modern, open, proxied } from './harness.ts'
import { stateful } from './stateful.ts'

const TIMEOUT = { timeout: 60_000 }
const NAMED = { 'plantgw-session': '0b0f7c0e-6f0e-4c53-9a3c-0f5a1c1f6f6e' }
const SHORT = { limits: { timeout: '300ms' } }

for (const era of ['session', 'modern'] as const)
  for (const client of ['session', 'modern'] as const) {
    const name = `a ${era} server over stdio, a ${client} client`

    test(`a server that has frozen gives way to another one: ${name}`, TIMEOUT, async (t) => {
      const { url } = await proxied(t, [stateful(era, SHORT)])
      const { call } = client === 'session' ? await open(url) : modern(url, NAMED)
      const [pid] = (await call('count')).split('#')
      process.kill(Number(pid), 'SIGSTOP')
      const answers: string[] = []
      while (!/^\d+#/.test(answers.at(-1) ?? '')) answers.push(await call('count'))
      assert.match(answers[0]!, /timed out/)
      assert.notEqual(answers.at(-1)!.split('#')[0], pid)
    })

    test(`a server that is only slow goes on: ${name}`, TIMEOUT, async (t) => {
      const { url } = await proxied(t, [stateful(era, SHORT)])
      const { call } = client === 'session' ? await open(url) : modern(url, NAMED)
      const counted = await call('count')
      assert.match(await call('hold', { about: 'x' }), /timed out/)
      assert.match(await call('seen'), /notifications.cancelled/)
      assert.equal(await call('count'), counted.replace('#1', '#2'))
    })
  }

test('a child for which there are no files says so', async (t) => {
  const Process = Object.getPrototypeOf((new ChildProcess() as unknown as { _handle: object })._handle)
  const EMFILE = -24
  t.mock.method(Process, 'spawn', () => EMFILE)
  const child = startChild(process.execPath, [], {}, {})
  assert.equal(await child.ended, 'could not be started: EMFILE')
  child.close()
})
