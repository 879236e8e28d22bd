import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from './fuzz.ts'
import { TARGETS } from './targets/index.ts'

/** The bounded form: the kept corpus and so many mutations of it, the same on every machine. */
const SEED = 12

for (const target of TARGETS)
  test(`fuzz ${target.name}: ${target.about}`, async () => {
    const { failures } = await fuzz(target, { runs: target.ciRuns, seed: SEED })
    assert.equal(
      failures.map(({ what, input, stack }) => `${what}: ${JSON.stringify(input)}\n${stack}`).join('\n\n'),
      '',
    )
  })
