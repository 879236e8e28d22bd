import { availableParallelism } from 'node:os'
import type { Examined, Examiner, Source } from '../config/index.ts'
import { startThread } from '../config/thread.ts'
import { type Examination, examining } from './examination.ts'

/** More would take memory that the files themselves need. */
const MOST = 3
/** Files that are examined at one go: so few that at the end nobody waits long for the last ones. */
const PIECE = 25
/** Pieces that a thread has at a time, so that it has the next one when it is done with one. */
const AT_A_TIME = 2

type Examine = (sources: readonly Source[]) => Promise<(Examined | undefined)[]>

/** What examines, here or in a thread. */
interface Executor {
  examine: Examine
  /** Pieces that it takes at a time; 0: it has ended. */
  most: number
  /** Pieces that it has. */
  pieces: number
}

interface Piece {
  sources: readonly Source[]
  resolve: (examined: (Examined | undefined)[]) => void
  reject: (error: unknown) => void
}

/** Examines configurations here, and in a thread for each further processor: whoever is free takes the next ones. */
export function createExaminer({ env, ...given }: Examination): Examiner {
  const data: Examination = { ...given, env: { ...env } }
  const many = Math.min(availableParallelism() - 1, MOST)
  const threads = Array.from({ length: many }, (_, i) =>
    startThread<readonly Source[], (Examined | undefined)[]>('build/examiner-thread', `checks ${i}`, data),
  )
  const here: Executor = { examine: examining({ env, ...given }), most: 1, pieces: 0 }
  const executors = [
    here,
    ...threads.map(({ ask }): Executor => ({ examine: ask, most: AT_A_TIME, pieces: 0 })),
  ]
  const waiting: Piece[] = []

  function handOut(): void {
    while (waiting.length > 0) {
      const free = executors.filter(({ pieces, most }) => pieces < most)
      if (free.length === 0) return
      const executor = free.reduce((least, one) => (one.pieces < least.pieces ? one : least))
      give(executor, waiting.shift()!)
    }
  }

  function give(executor: Executor, piece: Piece): void {
    executor.pieces++
    executor
      .examine(piece.sources)
      .then(piece.resolve, (error) => {
        if (executor === here) return piece.reject(error)
        // A thread that has ended leaves its pieces to the others.
        executor.most = 0
        waiting.unshift(piece)
      })
      .finally(() => {
        executor.pieces--
        handOut()
      })
  }

  return {
    async examine(sources) {
      const pieces = Array.from({ length: Math.ceil(sources.length / PIECE) }, (_, i) =>
        sources.slice(i * PIECE, (i + 1) * PIECE),
      )
      const examined = pieces.map(
        (own) =>
          new Promise<(Examined | undefined)[]>((resolve, reject) => {
            waiting.push({ sources: own, resolve, reject })
          }),
      )
      handOut()
      return (await Promise.all(examined)).flat()
    },
    close() {
      for (const thread of threads) thread.end()
    },
  }
}
