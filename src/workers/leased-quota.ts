import { bump, Quota, type QuotaLimits, type Reached } from '../access/quota.ts'
import { countRefusal } from '../access/refusals.ts'
import type { LeaseQuestion, QuotaName, RecallQuestion, Units } from './channel-messages.ts'
import { countsOf } from './ledger.ts'

/** Counts that are leased and not in use, beyond which they are given back. */
const MAX_IDLE = 1_000

/** What a quota asks of the process that has the ledger. */
export interface Lender {
  /** @throws Error when it has ended */
  lease(question: LeaseQuestion): Promise<Reached>
  giveBack(units: Units): void
}

/** The part of a worker in what all of them may have together. */
export class LeasedQuota extends Quota {
  /** By key, what this worker may use, and what it does. */
  private readonly leased = new Map<string, number>()
  private readonly used = new Map<string, number>()
  /** Keys of what is leased and not used, the oldest first. */
  private readonly idle = new Set<string>()

  /** @param makeRoom frees something that is not in use, where others need it */
  constructor(
    private readonly name: QuotaName,
    limits: QuotaLimits,
    private readonly lender: Lender,
    private readonly makeRoom: (prefix: string, caller: string) => void = () => {},
  ) {
    super(limits)
  }

  /** Only the ledger knows. */
  override exceeded(): Reached {
    return undefined
  }

  override take(prefix: string, caller: string, count = 1): Reached | Promise<Reached> {
    const counts = countsOf(this.limits, prefix, caller)
    if (counts.every(({ key }) => this.spare(key) >= count)) {
      this.change(prefix, caller, count)
      return undefined
    }
    return this.takeMore(prefix, caller, count)
  }

  /** What is not in use, which others want. */
  recall({ prefix, caller, makesRoom }: RecallQuestion): Units {
    const counts = countsOf(this.limits, prefix, caller)
    if (makesRoom) this.makeRoom(prefix, caller)
    return new Map(counts.map(({ key }) => [key, this.release(key)]))
  }

  private async takeMore(prefix: string, caller: string, count: number): Promise<Reached> {
    const { name, limits } = this
    const limit = await this.lender.lease({ quota: name, limits, prefix, caller, count })
    if (limit) {
      countRefusal(limit)
      return limit
    }
    for (const { key } of countsOf(limits, prefix, caller)) bump(this.leased, key, count)
    this.change(prefix, caller, count)
    return undefined
  }

  protected override change(prefix: string, caller: string, by: number): void {
    for (const { key } of countsOf(this.limits, prefix, caller)) {
      if (bump(this.used, key, by) > 0) this.idle.delete(key)
      else this.idle.add(key)
    }
    if (this.idle.size <= MAX_IDLE) return
    const [oldest] = this.idle
    this.lender.giveBack(new Map([[oldest as string, this.release(oldest as string)]]))
  }

  private spare(key: string): number {
    return (this.leased.get(key) ?? 0) - (this.used.get(key) ?? 0)
  }

  private release(key: string): number {
    const spare = this.spare(key)
    bump(this.leased, key, -spare)
    if (!this.used.has(key)) this.idle.delete(key)
    return spare
  }
}
