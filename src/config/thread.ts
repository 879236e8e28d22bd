import { Worker } from 'node:worker_threads'
import { unexpected } from '../telemetry/unexpected.ts'

/** A thread that answers requests in their order. */
export interface Thread<Request, Reply> {
  /** Rejects when the thread ends before. */
  ask(request: Request): Promise<Reply>
  end(): void
}

const FROM_SOURCE = import.meta.url.endsWith('.ts')
/** What is merged into dist/bin has the folders of threads beside it, src/config and dist/config are beside them. */
const ROOT = new URL(/\/dist\/bin\/[^/]+$/.test(import.meta.url) ? '.' : '..', import.meta.url)

/**
 * Starts a thread, which keeps no process alive but for what it is asked.
 * @param module without its extension, from `src`
 */
export function startThread<Request, Reply>(
  module: string,
  name: string,
  workerData: unknown,
  onEnd: () => void = () => {},
): Thread<Request, Reply> {
  const url = new URL(`${module}.${FROM_SOURCE ? 'ts' : 'js'}`, ROOT)
  const options = { workerData, name }
  // Node 20 starts no thread from TypeScript, not even below tsx.
  const viaTsx = `import('tsx/esm/api').then(({ register }) => (register(), import('${url.href}')))`
  const thread = FROM_SOURCE ? new Worker(viaTsx, { ...options, eval: true }) : new Worker(url, options)
  const waiting: { resolve: (reply: Reply) => void; reject: (error: Error) => void }[] = []
  thread.unref()
  thread.on('message', (reply: Reply) => {
    waiting.shift()?.resolve(reply)
    if (waiting.length === 0) thread.unref()
  })
  let fault = new Error(`the thread ${name} has ended`)
  thread.on('error', (error) => {
    fault = error
  })
  let hasEnded = false
  thread.on('exit', () => {
    hasEnded = true
    onEnd()
    for (const { reject } of waiting) reject(fault)
  })
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        if (hasEnded) return reject(fault)
        thread.postMessage(request)
        waiting.push({ resolve, reject })
        thread.ref()
      }),
    end() {
      thread.terminate().catch(unexpected('the end of a thread'))
    },
  }
}
