// Tests replace timers and the clock.
const { setTimeout: wait } = globalThis
const now = performance.now.bind(performance)

/**
 * Asks, without a guess at how long it takes, until something holds; what has not come by the limit, in milliseconds,
 * does not come. The pause leaves the processor to what is waited for.
 */
export async function until<Value>(ask: () => Value | Promise<Value>, limit = 90_000) {
  const end = now() + limit
  for (;;) {
    const value = await ask()
    if (value) return value as NonNullable<Exclude<Value, false>>
    if (now() > end) throw new Error(`still not so after ${limit / 1000} s: ${ask}`)
    await new Promise((resolve) => wait(resolve, 5))
  }
}
