import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rest } from '../support/rest.ts'
import { fuzz } from './fuzz.ts'
import { TARGETS } from './targets/index.ts'

/** The bounded form: the kept corpus and so many mutations of it, the same on every machine; 5 % of them in the gate. */
const SEED = 12

for (const target of TARGETS)
  test(`fuzz ${target.name}: ${target.about}`, async () => {
    const { failures } = await fuzz(target, {
      runs: Math.ceil(target.ciRuns * (rest ? 1 : 0.05)),
      seed: SEED,
    })
    assert.equal(
      failures.map(({ what, input, stack }) => `${what}: ${JSON.stringify(input)}\n${stack}`).join('\n\n'),
      '',
    )
  })
