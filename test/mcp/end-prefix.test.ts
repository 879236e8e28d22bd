import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type BackendSession, type Session, SessionRegistry } from '../../src/mcp/index.ts'
import { createLog } from '../../src/telemetry/log.ts'

test('a session goes on where its prefix is served again before its calls have ended', async (t) => {
  const registry = new SessionRegistry()
  t.after(() => registry.close())
  const callLog = { tenant: 'default', prefix: '/p', log: await createLog({ level: 'silent' }) }
  const facts = {
    prefix: '/p',
    caller: undefined,
    quotaKey: '',
    revision: '2025-11-25',
    onStream: false,
  } as const
  const [gone, again] = [0, 1].map(() => registry.openSession(facts, callLog) as Session) as [
    Session,
    Session,
  ]
  let drained = () => {}
  const ended = new Promise<void>((resolve) => {
    drained = resolve
  })
  const busy = { busy: () => true, drain: () => ended, close() {} } as unknown as BackendSession
  gone.backendSession = busy
  again.backendSession = busy
  registry.endPrefix('/p')
  again.serveBy({ busy: () => false, close() {} } as unknown as BackendSession)
  drained()
  await setImmediate()
  assert.equal(registry.session(gone.id, '/p', undefined), undefined)
  assert.equal(registry.session(again.id, '/p', undefined), again)
})
