import type { QuotaLimits, Reached } from '../access/quota.ts'
import type { LeaseQuestion, QuotaName, RecallQuestion, Units } from './channel-messages.ts'

/** A worker, as the ledger knows it. */
export interface Lessee {
  /** Has it give back what it does not use. It may have ended. */
  recall(question: RecallQuestion): Promise<Units>
}

/** The three counts that something is part of, and how much of each there may be. */
export function countsOf(
  limits: QuotaLimits,
  prefix: string,
  caller: string,
): { key: string; limit: QuotaLimits['prefix'] }[] {
  return [
    ...(limits.total ? [{ key: 'total', limit: limits.total }] : []),
    { key: `prefix ${prefix}`, limit: limits.prefix },
    { key: `caller ${caller}`, limit: limits.caller },
  ]
}

/**
 * What each worker may use of what there may be in all. A worker asks for more only when it needs more than it ever did at
 * once, so that most calls are counted without a question; what it does not use is asked back when others need it. So a
 * limit is never exceeded, and never reached too early.
 */
export class Ledger {
  private readonly leased: Record<QuotaName, Map<string, Map<Lessee, number>>> = {
    calls: new Map(),
    sessions: new Map(),
  }

  /** @param lessees all that there are */
  constructor(private readonly lessees: () => readonly Lessee[]) {}

  /** Gives a worker as much more as it asks for; else the limit that is reached. */
  async lease(to: Lessee, question: LeaseQuestion): Promise<Reached> {
    if (this.exceeded(question)) await this.recall(question)
    const limit = this.exceeded(question)
    if (limit) return limit
    const { quota, limits, prefix, caller, count } = question
    for (const { key } of countsOf(limits, prefix, caller)) this.add(quota, key, to, count)
    return undefined
  }

  giveBack(from: Lessee, quota: QuotaName, units: Units): void {
    for (const [key, count] of units) this.add(quota, key, from, -count)
  }

  /** A worker has ended. */
  forget(lessee: Lessee): void {
    for (const counts of Object.values(this.leased))
      for (const [key, lessees] of counts) if (lessees.delete(lessee) && !lessees.size) counts.delete(key)
  }

  private exceeded({ quota, limits, prefix, caller, count }: LeaseQuestion): Reached {
    return countsOf(limits, prefix, caller).find(({ key, limit }) => this.sum(quota, key) + count > limit[1])
      ?.limit[0]
  }

  /** Asks all for what they do not use; where that is not enough, one after the other also for what they can do without. */
  private async recall(question: LeaseQuestion): Promise<void> {
    const ask = async (lessee: Lessee, makesRoom: boolean) => {
      const units = await lessee.recall({ ...question, makesRoom })
      this.giveBack(lessee, question.quota, units)
    }
    const all = this.lessees()
    await Promise.allSettled(all.map((lessee) => ask(lessee, false)))
    // No call ends because another one wants its place.
    if (question.quota === 'calls') return
    for (const lessee of all) {
      if (!this.exceeded(question)) return
      // It may have ended.
      await ask(lessee, true).catch(() => {})
    }
  }

  private sum(quota: QuotaName, key: string): number {
    let sum = 0
    for (const count of this.leased[quota].get(key)?.values() ?? []) sum += count
    return sum
  }

  private add(quota: QuotaName, key: string, lessee: Lessee, by: number): void {
    const counts = this.leased[quota]
    const lessees = counts.get(key) ?? new Map<Lessee, number>()
    const count = (lessees.get(lessee) ?? 0) + by
    if (count > 0) lessees.set(lessee, count)
    else lessees.delete(lessee)
    if (lessees.size) counts.set(key, lessees)
    else counts.delete(key)
  }
}
