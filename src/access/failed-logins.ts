import { Buckets, secondsOf, shortKey } from './buckets.ts'
import { networkOf } from './quota.ts'
import { countRefusal } from './refusals.ts'
import type { Denial } from './steps.ts'

/** Milliseconds. */
const MINUTE = 60_000
/** Pairs of an address and a caller that are remembered, twice as many at most. */
const MAX_GOOD = 20_000

/** What bounds wrong credentials; what it has to ask others for is a promise. */
export interface Logins {
  /** What to answer to any credentials of an address; undefined: they are to be judged. */
  refuse(address: string | undefined): Denial | undefined
  /** The credentials were good. @returns what to answer nevertheless */
  succeeded(address: string | undefined, caller: string): Denial | undefined | Promise<Denial | undefined>
  /** The credentials were wrong. @returns what to answer in place of that */
  failed(address: string | undefined): Denial | undefined | Promise<Denial | undefined>
}

/** The same, with each answer counted as a refusal. */
export function countedLogins(logins: Logins): Logins {
  const count = (denial: Denial | undefined) => {
    if (denial) countRefusal('maxFailedLogins')
    return denial
  }
  const counted = (denial: ReturnType<Logins['failed']>) =>
    denial instanceof Promise ? denial.then(count) : count(denial)
  return {
    refuse: (address) => count(logins.refuse(address)),
    succeeded: (address, caller) => counted(logins.succeeded(address, caller)),
    failed: (address) => counted(logins.failed(address)),
  }
}

/**
 * Bounds how many wrong credentials an address may send, so that nobody guesses them at speed. An address that has sent
 * too many is refused before its credentials are looked at, or, where others behind it have logged in before, unless they
 * turn out to be those of such a caller: a stranger cannot lock out those with whom he shares an address, and who comes
 * anew waits until the minute is over.
 */
export class FailedLogins implements Logins {
  private readonly failures: Buckets
  /** Networks, and networks with callers, from which a login was good. */
  private good = new Set<string>()
  private before = new Set<string>()

  /** @param limit a minute */
  constructor(limit: number, now?: () => number) {
    this.failures = new Buckets({ interval: MINUTE / limit, burst: limit }, now)
  }

  /** What to answer to any credentials of an address; undefined: they are to be judged. */
  refuse(address: string | undefined): Denial | undefined {
    const network = networkOf(address ?? '')
    return this.knows(network) ? undefined : this.denial(network)
  }

  /** The credentials were good. @returns what to answer nevertheless */
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
   * The credentials were wrong.
   * @returns what to answer in place of that: whoever guesses must not learn which ones are right
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
    if (this.good.size >= MAX_GOOD) {
      this.before = this.good
      this.good = new Set()
    }
    this.good.add(key)
  }
}
