import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Logger } from '../../src/telemetry/log.ts'
import { inOneGo, watchEventLoop } from '../../src/telemetry/loop-delay.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'

test('delays of the event loop are counted, and long ones logged with what took longest', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setInterval'] })
  const lines: unknown[][] = []
  const write = (level: string) => (line: object, message: string) => lines.push([level, line, message])
  const log = { info: write('info'), debug: write('debug') } as unknown as Logger
  const metrics = createMetrics([], () => new Map())
  inOneGo('read', 'a.yaml', () => {
    now += 500
  })
  const stop = watchEventLoop(log, metrics.loopDelay)
  /** The loop looks again after 20 ms, and `late` ms later. */
  const look = (late = 0) => {
    now += 20 + late
    t.mock.timers.tick(20)
  }
  const busy = (stage: string, of: string, ms: number) =>
    inOneGo(stage, of, () => {
      now += ms
      return ms
    })
  look()
  assert.equal(busy('check', '/a', 99), 99)
  look()
  assert.deepEqual(lines, [], 'shorter than 100 ms, or before somebody waited')
  busy('check', '/a', 60)
  assert.throws(() =>
    inOneGo('compile', '/b', () => {
      now += 150
      throw new Error('fault')
    }),
  )
  look()
  look(300)
  look()
  stop()
  look(1000)
  const message = 'event loop blocked'
  assert.deepEqual(lines, [
    ['debug', { ms: 210, stage: 'compile', of: '/b' }, message],
    ['debug', { ms: 300 }, message],
  ])
  const text = await metrics.text()
  const counts = [...text.matchAll(/^plantgw_event_loop_delay_seconds_(\S+) (\S+)$/gm)].map(
    ([, name, value]) => [name, value],
  )
  assert.deepEqual(
    counts.filter(([name]) => !/le="(?!0\.01"|0\.2"|\+Inf)/.test(name!)),
    [
      ['bucket{le="0.01"}', '2'],
      ['bucket{le="0.2"}', '3'],
      ['bucket{le="+Inf"}', '5'],
      ['sum', '0.609'],
      ['count', '5'],
    ],
  )
})
