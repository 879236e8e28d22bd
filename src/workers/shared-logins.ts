import type { Logins } from '../access/failed-logins.ts'
import { networkOf } from '../access/quota.ts'
import type { Denial } from '../access/steps.ts'
import type { LoginQuestion } from './channel-messages.ts'

/** Addresses and callers that are remembered, twice as many at most. */
const MAX_KNOWN = 20_000

type Ask = (question: LoginQuestion) => Promise<{ denial: Denial | undefined; refused: Denial | undefined }>

/**
 * Wrong credentials that all workers count together: each first good one of a caller and each wrong one is a question to
 * the process that started them.
 */
export function sharedLogins(ask: Ask, now: () => number = performance.now.bind(performance)): Logins {
  const good = new Recent<true>()
  /** Networks that have sent too many, until when, with what they are answered. */
  const refused = new Recent<{ until: number; denial: Denial }>()

  async function asked(question: LoginQuestion): Promise<Denial | undefined> {
    const { denial, refused: all } = await ask(question)
    const seconds = Number(all?.headers?.['retry-after'])
    if (all) refused.add(networkOf(question.address ?? ''), { until: now() + seconds * 1000, denial: all })
    return denial
  }

  return {
    refuse(address) {
      const known = refused.get(networkOf(address ?? ''))
      return known && known.until > now() ? known.denial : undefined
    },
    succeeded(address, caller) {
      const pair = JSON.stringify([networkOf(address ?? ''), caller])
      if (good.get(pair)) return undefined
      return asked({ address, caller }).then((denial) => {
        if (!denial) good.add(pair, true)
        return denial
      })
    },
    failed: (address) => asked({ address }),
  }
}

/** Forgets what was not added for the longest time. */
class Recent<Value> {
  private recent = new Map<string, Value>()
  private before = new Map<string, Value>()

  get(key: string): Value | undefined {
    return this.recent.get(key) ?? this.before.get(key)
  }
  add(key: string, value: Value): void {
    if (this.recent.size >= MAX_KNOWN) {
      this.before = this.recent
      this.recent = new Map()
    }
    this.recent.set(key, value)
  }
}
