/** What is random in this process from here on comes from a seed. */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

let state = 1

/** Begins anew. */
export function seed(number: number): void {
  state = number >>> 0
}

/** At least 0, less than 1 (mulberry32). */
export function chance(): number {
  state = (state + 0x6d2b79f5) >>> 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

Math.random = chance
const randomBytes = (size: number) => Buffer.from(Array.from({ length: size }, () => chance() * 256))
const randomUUID = () => {
  const hex = randomBytes(16).toString('hex')
  return [8, 12, 16, 20, 32].map((end, i, ends) => hex.slice(ends[i - 1] ?? 0, end)).join('-')
}
Object.assign(crypto, { randomBytes, randomUUID })
syncBuiltinESMExports()
