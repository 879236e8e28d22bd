import { availableParallelism } from 'node:os'
import type { Examined, Examiner, Source } from '../config/index.ts'
import { startThread } from '../config/thread.ts'
import { type Examination, examining } from './examination.ts'

/** More would take memory that the files themselves need. */
const MOST = 3

type Ask = (sources: readonly Source[]) => Promise<(Examined | undefined)[]>

/** Examines configurations here, and in a thread for each further processor. */
export function createExaminer({ env, ...given }: Examination): Examiner {
  const data: Examination = { ...given, env: { ...env } }
  const many = Math.min(availableParallelism() - 1, MOST)
  const threads = Array.from({ length: many }, (_, i) =>
    startThread<readonly Source[], (Examined | undefined)[]>('build/examiner-thread', `checks ${i}`, data),
  )
  const asks: Ask[] = [...threads.map(({ ask }) => ask), examining({ env, ...given })]
  const pending = asks.map(() => 0)
  return {
    async examine(sources) {
      const least = pending.indexOf(Math.min(...pending))
      pending[least]!++
      return asks[least]!(sources).finally(() => {
        pending[least]!--
      })
    },
    close() {
      for (const thread of threads) thread.end()
    },
  }
}
