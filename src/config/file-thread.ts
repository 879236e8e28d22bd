import { Worker } from 'node:worker_threads'
import type { Asked, Looked } from './reading-thread.ts'
import { MAX_FILE_SIZE } from './yaml/document.ts'

interface Waiting {
  resolve: (looked: Looked[]) => void
  reject: (error: Error) => void
}

type Ask = (asked: Asked) => Promise<Looked[]>

/** As it is built: seen from src/config, dist/config and dist/bin alike. */
const THREAD = '../../dist/config/reading-thread.js'

let ask: Ask | undefined

/**
 * Reads files in a thread of its own, which takes a tenth of the time that the event loop spends on asking for each: no
 * call waits for it. The thread is started when it is first wanted, and keeps no process alive.
 * @throws Error when there can be no such thread
 */
export async function lookAt(asked: Asked): Promise<Looked[]> {
  ask ??= startThread(() => {
    ask = undefined
  })
  return ask(asked)
}

function startThread(onEnd: () => void): Ask {
  const thread = new Worker(new URL(THREAD, import.meta.url), { workerData: MAX_FILE_SIZE, name: 'files' })
  const waiting: Waiting[] = []
  thread.unref()
  thread.on('message', (looked: Looked[]) => {
    waiting.shift()?.resolve(looked)
    if (waiting.length === 0) thread.unref()
  })
  let fault = new Error('the thread that reads files has ended')
  thread.on('error', (error) => {
    fault = error
  })
  thread.on('exit', () => {
    onEnd()
    for (const { reject } of waiting) reject(fault)
  })
  return (asked) =>
    new Promise((resolve, reject) => {
      thread.postMessage(asked)
      waiting.push({ resolve, reject })
      thread.ref()
    })
}
