import type { Exchange } from '../../mcp/index.ts'
import type { Request } from '../rpc/link.ts'
import type { Call } from './call-log.ts'

/** Requests of clients without sessions, which a server that is replaced still answers. */
export interface UnderWay {
  begin(exchange: Exchange, request: Request): (failure?: string) => void
  /** Counts what has to come before it begins as well. */
  until(answered: Promise<unknown>): void
  /** Resolves when nothing is under way, after so many milliseconds at the most. */
  over(limit: number): Promise<void>
}

export function createUnderWay(onCall: (call: Call) => void): UnderWay {
  let count = 0
  let onOver: (() => void) | undefined

  function end(): void {
    count--
    if (count === 0) onOver?.()
  }

  return {
    begin({ requestId }, { method, params }) {
      const started = performance.now()
      // A subscription has no end of its own.
      const ends = method !== 'subscriptions/listen'
      if (ends) count++
      return (failure) => {
        const ms = Math.round((performance.now() - started) * 10) / 10
        onCall({ method, name: params.name, ms, requestId, ...(failure && { failure }) })
        if (ends) end()
      }
    },
    until(answered) {
      count++
      answered.then(end, end)
    },
    async over(limit) {
      if (!count) return
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        onOver = resolve
        timer = setTimeout(resolve, limit)
      })
      clearTimeout(timer)
    },
  }
}
