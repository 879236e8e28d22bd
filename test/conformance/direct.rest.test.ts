import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Era, startEverything } from '../fixtures/everything/start.ts'
import { refusingUrl, startFaulty } from '../fixtures/faulty/start.ts'
import { faults, passes, type Revision, runSuite, scenarios } from './suite.ts'

// What the everything-servers reach without anything in front of them. The suite speaks streamable HTTP, so this
// is also the measure for the legs over stdio and HTTP+SSE: the same features behind another transport.

const LEGS: [Era, Revision][] = [
  ['session', '2025-11-25'],
  ['dual', '2025-11-25'],
  ['dual', '2026-07-28'],
  ['modern', '2026-07-28'],
]

describe('everything-servers, directly', { concurrency: 2 }, () => {
  for (const [era, revision] of LEGS)
    test(`${era} passes every scenario of ${revision}`, async (t) => {
      const results = await runSuite(await startEverything(t, 'http', era), revision)
      const failing = [...results].filter(([, outcome]) => !passes(outcome))
      assert.deepEqual(Object.fromEntries(failing.map(([name, outcome]) => [name, faults(outcome)])), {})
    })

  test('a server without the features fails, and one that is not there', async (t) => {
    const faulty = await startFaulty(t, 'http', 'modern')
    const failing = await runSuite(faulty.url, '2026-07-28')
    assert.ok(!passes(failing.get('prompts-list')!) && !passes(failing.get('tools-call-image')!))
    for (const [scenario, outcome] of await runSuite(await refusingUrl(), '2025-11-25'))
      assert.ok(!passes(outcome), scenario)
  })

  test('the suite asks for as many scenarios as it is known to', () => {
    assert.equal(scenarios('2025-11-25').scored.length, 30)
    assert.equal(scenarios('2026-07-28').scored.length, 37)
  })
})
