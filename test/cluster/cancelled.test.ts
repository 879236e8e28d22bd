import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { open, send } from '../upstream/harness.ts'
import { serveSilent } from './silent.ts'

const TIMEOUT = { timeout: 90_000 }

test('a call is cancelled through any replica, wherever it runs', TIMEOUT, async (t) => {
  const { all, held, call } = await serveSilent(t, 3)
  for (const opener of all)
    for (const runner of all)
      for (const canceller of all) {
        const { headers } = await open(opener.url('tools'))
        const running = call(runner, headers)
        await until(() => held.length > 0)
        const cancelled = { method: 'notifications/cancelled', params: { requestId: 'c' } }
        assert.equal((await send(canceller.url('tools'), cancelled, headers)).status, 202)
        assert.deepEqual(await running, [])
        held.length = 0
      }
})
