import { parentPort, workerData } from 'node:worker_threads'
import type { Source } from '../config/index.ts'
import { examining } from './examination.ts'

/** The thread of `examiner.ts`: checks configurations, each by itself. */

const examine = examining(workerData)

/** Replies come in the order of the requests, although each is done with pauses. */
let last = Promise.resolve()

parentPort?.on('message', (sources: readonly Source[]) => {
  last = last.then(async () => parentPort?.postMessage(await examine(sources)))
  // Ends the thread, and so is known to who waits.
  last.catch((error) =>
    setImmediate(() => {
      throw error
    }),
  )
})
