import { Buckets, secondsOf, shortKey } from './buckets.ts'
import { networkOf } from './quota.ts'
import { countRefusal } from './refusals.ts'
import type { Denial } from './steps.ts'

/** Milliseconds. */
const MINUTE = 60_000

/**
 * Limits wrong credentials per address, against guessing. An address beyond the limit is refused before its credentials
 * are checked, unless other callers have logged in from it before: those may still log in, so that an attacker cannot
 * lock out users behind the same address, while new callers wait up to a minute.
 */
export class FailedLogins {
  private readonly failures: Buckets
  /** Networks, and networks with callers, of successful logins. */
  private good = new Set<string>()
  private before = new Set<string>()

  /** @param limit a minute */
  constructor(limit: number, now?: () => number) {
    this.failures = new Buckets({ interval: MINUTE / limit, burst: limit }, now)
  }

  /** The denial of any credentials from an address; undefined: check them. */
  refuse(address: string | undefined): Denial | undefined {
    const network = networkOf(address ?? '')
    return this.knows(network) ? undefined : this.denial(network)
  }

  /** Records valid credentials. @returns a denial nevertheless, if any */
  succeeded(address: string | undefined, caller: string): Denial | undefined {
    const network = networkOf(address ?? '')
    const pair = shortKey(`${network} ${caller}`)
    if (this.knows(pair)) return undefined
    const denial = this.denial(network)
    if (denial) return denial
    this.remember(network)
    this.remember(pair)
    return undefined
  }

  /**
   * Records wrong credentials.
   * @returns a denial that replaces the answer, so that guesses reveal nothing
   */
  failed(address: string | undefined): Denial | undefined {
    const network = networkOf(address ?? '')
    const denial = this.denial(network)
    if (!denial) this.failures.add(network)
    return denial
  }

  private denial(network: string): Denial | undefined {
    const wait = this.failures.wait(network)
    if (wait <= 0) return undefined
    countRefusal('maxFailedLogins')
    const seconds = secondsOf(wait)
    return {
      status: 429,
      reason: 'limited',
      message: `Too many wrong credentials came from this address: try again in ${seconds} s`,
      headers: { 'retry-after': String(seconds) },
    }
  }

  private knows(key: string): boolean {
    return this.good.has(key) || this.before.has(key)
  }

  private remember(key: string): void {
    if (this.good.size >= 20_000) {
      this.before = this.good
      this.good = new Set()
    }
    this.good.add(key)
  }
}
