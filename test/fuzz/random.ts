/** A seeded source of numbers (mulberry32): the same seed gives the same inputs on every machine. */
export interface Random {
  /** An integer from 0 to below `n`. */
  below(n: number): number
  /** Whether something that happens once in `n` times happens now. */
  once(n: number): boolean
  pick<T>(from: readonly T[]): T
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const below = (n: number) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * n)
  }
  return { below, once: (n) => below(n) === 0, pick: (from) => from[below(from.length)]! }
}
