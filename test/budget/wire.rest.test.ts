import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureAll } from './measure.ts'
import { slowest, startBudget } from './wire.ts'

// The bounded form of `npm run budget`: what is known, and some of the rest.
test('no request and no upstream message of 4 MiB holds the event loop longer than its budget', {
  timeout: 850_000,
}, async (t) => {
  const budget = await startBudget(t)
  const all = await measureAll(budget, { every: 8, generated: 1500, seed: 12 }, () => {})
  t.diagnostic(`budget ${budget.limit.toFixed(0)} ms; the slowest of ${all.length}:\n${slowest(all)}`)
  const over = all.filter(({ held }) => held > budget.limit)
  assert.equal(over.length, 0, `${over.length} of ${all.length} inputs:\n${slowest(over, 40)}`)
})
