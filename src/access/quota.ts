import { isIPv6 } from 'node:net'
import { countRefusal, type LimitName } from './refusals.ts'

/** Limits in all, for one prefix, and for one caller. */
interface QuotaLimits {
  total?: [LimitName, number]
  prefix: [LimitName, number]
  caller: [LimitName, number]
}

/** Counts resources by prefix and caller, so that no caller takes them all. */
export class Quota {
  private total = 0
  private readonly prefixes = new Map<string, number>()
  private readonly callers = new Map<string, number>()

  constructor(private readonly limits: QuotaLimits) {}

  /** The limit that `count` more would exceed; undefined: none. */
  exceeded(prefix: string, caller: string, count = 1): LimitName | undefined {
    const { limits } = this
    if (limits.total && this.total + count > limits.total[1]) return limits.total[0]
    if ((this.prefixes.get(prefix) ?? 0) + count > limits.prefix[1]) return limits.prefix[0]
    return (this.callers.get(caller) ?? 0) + count > limits.caller[1] ? limits.caller[0] : undefined
  }

  /** Takes `count` more, or counts the refusal and returns the exceeded limit. */
  take(prefix: string, caller: string, count = 1): LimitName | undefined {
    const limit = this.exceeded(prefix, caller, count)
    if (limit) countRefusal(limit)
    else this.change(prefix, caller, count)
    return limit
  }
  give(prefix: string, caller: string, count = 1): void {
    this.change(prefix, caller, -count)
  }

  private change(prefix: string, caller: string, by: number): void {
    this.total += by
    bump(this.prefixes, prefix, by)
    bump(this.callers, caller, by)
  }
}

/** Sessions: a prefix may have half of them, a caller a tenth. */
export function sessionQuota(maxSessions: number): Quota {
  return new Quota({
    total: ['maxSessions', maxSessions],
    prefix: ['maxSessionsPerPrefix', partOf(maxSessions, 2)],
    caller: ['maxSessionsPerCaller', partOf(maxSessions, 10)],
  })
}

/** Calls under way: a caller may have a quarter of those of its prefix. */
export function callQuota(maxCallsPerPrefix: number): Quota {
  return new Quota({
    prefix: ['maxCallsPerPrefix', maxCallsPerPrefix],
    caller: ['maxCallsPerCaller', partOf(maxCallsPerPrefix, 4)],
  })
}

function partOf(limit: number, divisor: number): number {
  return Math.ceil(limit / divisor)
}

/** Changes a count, and deletes it at 0. */
export function bump<Key>(counts: Map<Key, number>, key: Key, by: number): number {
  const count = (counts.get(key) ?? 0) + by
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
  return count
}

/** Quota key of a request: its caller and prefix; without a caller, the address, for all prefixes together. */
export function quotaKeyOf(prefix: string, caller: string | undefined, address: string | undefined): string {
  if (caller === undefined) return networkOf(address ?? '')
  return JSON.stringify([prefix, caller])
}

/** The network of an address: of IPv6 the /64, which usually belongs to one party. */
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
