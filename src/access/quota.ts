import { isIPv6 } from 'node:net'
import { countRefusal, type LimitName } from './refusals.ts'

/** The limit that is reached; undefined: none. */
export type Reached = LimitName | undefined

/** How much of something there may be in all, at one prefix, and of one caller. */
export interface QuotaLimits {
  total?: [LimitName, number]
  prefix: [LimitName, number]
  caller: [LimitName, number]
}

/** Counts what callers have at prefixes, so that none of them takes what is there for all. */
export class Quota {
  private total = 0
  private readonly prefixes = new Map<string, number>()
  private readonly callers = new Map<string, number>()

  constructor(readonly limits: QuotaLimits) {}

  /** Which limit `count` more would exceed. */
  exceeded(prefix: string, caller: string, count = 1): Reached {
    const { limits } = this
    if (limits.total && this.total + count > limits.total[1]) return limits.total[0]
    if ((this.prefixes.get(prefix) ?? 0) + count > limits.prefix[1]) return limits.prefix[0]
    return (this.callers.get(caller) ?? 0) + count > limits.caller[1] ? limits.caller[0] : undefined
  }

  /** Takes `count` more, or counts the refusal and gives the limit that is reached; a promise where others are asked. */
  take(prefix: string, caller: string, count = 1): Reached | Promise<Reached> {
    const limit = this.exceeded(prefix, caller, count)
    if (limit) countRefusal(limit)
    else this.change(prefix, caller, count)
    return limit
  }
  give(prefix: string, caller: string, count = 1): void {
    this.change(prefix, caller, -count)
  }

  protected change(prefix: string, caller: string, by: number): void {
    this.total += by
    bump(this.prefixes, prefix, by)
    bump(this.callers, caller, by)
  }
}

/** Changes a count; one that is 0 is not kept. */
export function bump<Key>(counts: Map<Key, number>, key: Key, by: number): number {
  const count = (counts.get(key) ?? 0) + by
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
  return count
}

/**
 * Whose share of the limits a request uses: that of a caller at its prefix, which names it; without a caller that of the
 * address, at all prefixes together.
 */
export function sharerOf(prefix: string, caller: string | undefined, address: string | undefined): string {
  if (caller === undefined) return networkOf(address ?? '')
  return JSON.stringify([prefix, caller])
}

/** The address of one party: of IPv6 the /64, of which everyone has all addresses. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!isIPv6(plain)) return plain
  const [head = '', tail = ''] = plain.split('::')
  const groups = head.split(':').filter(Boolean)
  const rest = tail.split(':').filter(Boolean)
  const all = plain.includes('::')
    ? [...groups, ...Array(Math.max(0, 8 - groups.length - rest.length)).fill('0'), ...rest]
    : groups
  return `${all.slice(0, 4).join(':')}::/64`
}
