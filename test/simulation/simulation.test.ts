import './clock.ts'
import './chance.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { rest } from '../support/rest.ts'
import { type History, history, run } from './history.ts'

/** Histories that are tried, and the seed that they are drawn from; a path leads to one of them. */
const { PLANTGW_SIM_RUNS, PLANTGW_SIM_SEED, PLANTGW_SIM_PATH } = process.env
const numRuns = Number(PLANTGW_SIM_RUNS ?? (PLANTGW_SIM_PATH ? 1 : rest ? 10_000 : 300))
const seed = Number(PLANTGW_SIM_SEED ?? 20_260_728)

test(`${numRuns} histories keep what is promised`, async () => {
  const keeps = fc.asyncProperty(history, async (one) => (await run(one)).violations.length === 0)
  const found = await fc.check(keeps, { numRuns, seed, path: PLANTGW_SIM_PATH ?? '' })
  if (!found.failed) return
  const [one] = found.counterexample as [History]
  assert.fail(`${await told(one)}

After ${found.numShrinks} steps of shrinking, as a case for regressions.test.ts:
${JSON.stringify(one)}

This history alone:
PLANTGW_SIM_SEED=${found.seed} PLANTGW_SIM_PATH=${found.counterexamplePath} npm test -- test/simulation/simulation.test.ts`)
})

/** What happened in a history, and what should not have. */
async function told(one: History): Promise<string> {
  const { story, violations } = await run(one)
  return [...violations, '', ...story].join('\n')
}

test('the same seed gives the same history', async () => {
  for (const one of fc.sample(history, { numRuns: 20, seed: 1 }))
    assert.deepEqual((await run(one)).story, (await run(one)).story)
})
