import assert from 'node:assert/strict'

/** Milliseconds that one input may hold the event loop, on a machine as fast as the one that it was set on. */
export const BUDGET = 100

/** Milliseconds at which a test fails: other work of the machine slows down this work by up to a half, and `calibrate` less. */
export const TOLERATED = 2 * BUDGET

/** Milliseconds that the work of `calibrate` takes there. */
const REFERENCE = 17

/** Milliseconds of the processor that a fixed piece of work takes, of the kind that is measured: texts and objects. */
function calibrate(): number {
  const before = process.cpuUsage()
  let length = 0
  for (let round = 0; round < 20; round++) {
    const items = Array.from({ length: 2000 }, (_, id) => ({ id, name: `plant ${id}` }))
    length += JSON.stringify(JSON.parse(JSON.stringify(items))).length
  }
  assert.ok(length > 0)
  return spent(before)
}

function spent(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** How much slower this machine is at the moment than the one that the budget was set on. */
export function slowness(): number {
  return Math.max(1, Math.min(calibrate(), calibrate(), calibrate()) / REFERENCE)
}

/** Measurements until one is within its budget: other work of the machine does not slow down each of them. */
const ROUNDS = 10

/** Milliseconds that `work` held the event loop at a stretch, at the most; the least of up to `ROUNDS` runs. */
export function held(work: () => unknown, budget = BUDGET): Promise<number> {
  return least(() => longestStretch(work), budget)
}

/** Milliseconds that `work`, which does not wait, takes; the least of up to `ROUNDS` runs. */
export function taken(work: () => unknown, budget = BUDGET): Promise<number> {
  return least(async () => {
    const watch = stopwatch()
    work()
    return watch()
  }, budget)
}

async function least(measure: () => Promise<number>, budget: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS && least > budget; round++) {
    const ms = await measure()
    least = Math.min(least, ms > budget ? ms / slowness() : ms)
  }
  return least
}

/**
 * Milliseconds since the call, of which the processor worked, so that other programs on the machine do not count:
 * the time on the clock where that is less, as the engine also works on other threads.
 */
function stopwatch(): () => number {
  const cpu = process.cpuUsage()
  const clock = performance.now()
  return () => Math.min(spent(cpu), performance.now() - clock)
}

async function longestStretch(work: () => unknown): Promise<number> {
  // What earlier runs left is collected now, where that can be asked for.
  globalThis.gc?.()
  let longest = 0
  let going = true
  let watch = stopwatch()
  const look = () => {
    longest = Math.max(longest, watch())
    watch = stopwatch()
    if (going) setImmediate(look)
  }
  await new Promise((resolve) => setImmediate(resolve))
  look()
  longest = 0
  await work()
  going = false
  look()
  return longest
}

/** Numbers from 0 up to 1 by a seed (mulberry32): generated inputs are the same in each run. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

export async function assertBudget(name: string, work: () => unknown): Promise<void> {
  const ms = await held(work)
  if (process.env.BUDGET_SHOW) console.error(`${ms.toFixed(0).padStart(6)} ms  ${name}`)
  assert.ok(ms <= TOLERATED, `${name} held the event loop for ${ms.toFixed(0)} ms`)
}
