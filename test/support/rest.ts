import { type TestContext, type TestOptions, test } from 'node:test'
import fc from 'fast-check'

/** Whether the rest runs too (`npm run test:all`), beyond the gate. */
export const rest = process.env.PLANTGW_TEST_REST === '1'

// The same cases in every run: a failure is never one of chance.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_260_728 })

/** So many random cases in the rest, a tenth of them in the gate. */
export function sample(runs: number): number {
  return rest ? runs : Math.ceil(runs / 10)
}

/** A test of a file of the gate that only the rest runs. */
export function restTest(name: string, options: TestOptions, run: (t: TestContext) => Promise<void>): void {
  if (rest) test(name, options, run)
}
