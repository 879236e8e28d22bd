// npm run budget [-- --generated N] [--every N] [--only TEXT] [--seed S]: how long inputs hold the event loop.
import type { TestContext } from 'node:test'
import { parseArgs } from 'node:util'
import { measureAll } from './measure.ts'
import { slowest, startBudget } from './wire.ts'

const { values } = parseArgs({
  options: {
    generated: { type: 'string', default: '10000' },
    every: { type: 'string', default: '1' },
    seed: { type: 'string', default: '12' },
    only: { type: 'string' },
  },
})
const cleanups: (() => unknown)[] = []
const context = { after: (run: () => unknown) => void cleanups.push(run) } as unknown as TestContext
const budget = await startBudget(context)
console.log(`budget: ${budget.limit.toFixed(0)} ms`)
const numbers = {
  every: Number(values.every),
  generated: Number(values.generated),
  seed: Number(values.seed),
}
const all = await measureAll(
  budget,
  { ...numbers, ...(values.only !== undefined && { only: values.only }) },
  (measured) => {
    if (measured.held > budget.limit) console.log(slowest([measured]))
  },
)
const over = all.filter(({ held }) => held > budget.limit)
console.log(`\n${over.length} of ${all.length} inputs are over the budget. The slowest:\n${slowest(all, 20)}`)
for (const cleanup of cleanups.reverse()) await cleanup()
process.exitCode = over.length > 0 ? 1 : 0
