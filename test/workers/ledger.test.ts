import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { QuotaLimits } from '../../src/access/quota.ts'
import { LeasedQuota } from '../../src/workers/leased-quota.ts'
import { Ledger, type Lessee } from '../../src/workers/ledger.ts'

const LIMITS: QuotaLimits = { prefix: ['maxSessionsPerPrefix', 3], caller: ['maxSessionsPerCaller', 10] }

/** Workers with a session each, which give one up where others need it. */
async function workers(count: number) {
  const lessees: Lessee[] = []
  const ledger = new Ledger(() => lessees)
  const ended: number[] = []
  const quotas = Array.from({ length: count }, (_, i) => {
    const lessee: Lessee = { recall: async (question) => quota.recall(question) }
    const lender = {
      lease: (question: Parameters<Ledger['lease']>[1]) => ledger.lease(lessee, question),
      giveBack: (units: Parameters<Ledger['giveBack']>[2]) => ledger.giveBack(lessee, 'sessions', units),
    }
    const quota = new LeasedQuota('sessions', LIMITS, lender, (prefix, caller) => {
      if (ended.includes(i)) return
      ended.push(i)
      quota.give(prefix, caller)
    })
    lessees.push(lessee)
    return quota
  })
  for (const quota of quotas) assert.equal(await quota.take('/p', 'ann'), undefined)
  return { quotas, ended, lessees }
}

test('a new session ends one that nobody uses, and no second one in another worker', async () => {
  const { quotas, ended } = await workers(3)
  for (let taken = 1; taken <= 3; taken++) {
    assert.equal(await quotas[2]!.take('/p', 'ann'), undefined)
    assert.equal(ended.length, taken)
  }
  assert.equal(await quotas[2]!.take('/p', 'ann'), 'maxSessionsPerPrefix')
})

test('what a worker does not use is given to another before anything ends', async () => {
  const { quotas, ended } = await workers(3)
  quotas[0]!.give('/p', 'ann')
  assert.equal(await quotas[1]!.take('/p', 'ann'), undefined)
  assert.deepEqual(ended, [])
})

test('a worker that has ended keeps nobody from asking the others', async () => {
  const { quotas, ended, lessees } = await workers(3)
  lessees[0]!.recall = () => Promise.reject(new Error('it has ended'))
  assert.equal(await quotas[2]!.take('/p', 'ann'), undefined)
  assert.deepEqual(ended, [1])
})
