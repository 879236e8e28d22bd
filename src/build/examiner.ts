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
interface Hand {
  examine: Examine
  /** Pieces at most. */
  room: number
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
  const here: Hand = { examine: examining({ env, ...given }), room: 1, pieces: 0 }
  const hands = [here, ...threads.map(({ ask }): Hand => ({ examine: ask, room: AT_A_TIME, pieces: 0 }))]
  const waiting: Piece[] = []

  function handOut(): void {
    while (waiting.length > 0) {
      const free = hands.filter(({ pieces, room }) => pieces < room)
      if (free.length === 0) return
      const hand = free.reduce((least, one) => (one.pieces < least.pieces ? one : least))
      give(hand, waiting.shift()!)
    }
  }

  function give(hand: Hand, piece: Piece): void {
    hand.pieces++
    hand
      .examine(piece.sources)
      .then(piece.resolve, (error) => {
        if (hand === here) return piece.reject(error)
        // A thread that has ended leaves its pieces to the others.
        hand.room = 0
        waiting.unshift(piece)
      })
      .finally(() => {
        hand.pieces--
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
