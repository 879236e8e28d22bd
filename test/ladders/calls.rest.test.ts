import assert from 'node:assert/strict'
import { test } from 'node:test'
import { climbCalls } from './calls.ts'

for (const seam of ['socket', 'child'] as const)
  test(`calls over each upstream kind with every fault of ${seam}`, { timeout: 7_200_000 }, async (t) => {
    const failures = await climbCalls(t, seam, (line) => t.diagnostic(line))
    assert.deepEqual(failures, [])
  })
